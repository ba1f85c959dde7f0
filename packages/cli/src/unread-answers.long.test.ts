import { TOKEN, testUnreadAnswers } from './unread-answers.fixture.js';

testUnreadAnswers([
  ['dashboard', '/v1/openapi.json', '', 16, false],
  ['dashboard', '/pictures.js', '', 16, true],
  ['dashboard', '/readyz', '', 16, false],
  ['dashboard', '/v1/events', TOKEN, 1, false],
  ['dashboard', '/v1/jobs/x-1?wait=60', TOKEN, 4, false],
  ['open dashboard', '/v1/openapi.json', '', 16, false],
  ['central', '/metrics', TOKEN, 1, false],
  ['central', '/livez', '', 16, false],
  ['scheduler', '/metrics', TOKEN, 1, true],
  ['scheduler', '/readyz', '', 1, false],
  ['worker', '/none', '', 1, true],
]);
