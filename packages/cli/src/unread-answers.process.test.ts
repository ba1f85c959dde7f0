import { TOKEN, testUnreadAnswers } from './unread-answers.fixture.js';

// One of each kind of server and of answer; the others take longer: unread-answers.long.test.ts.
testUnreadAnswers([
  ['dashboard', '/v1/openapi.json', TOKEN, 16, true],
  ['open dashboard', '/v1/events', '', 1, false],
  ['worker', '/metrics', TOKEN, 1, false],
]);
