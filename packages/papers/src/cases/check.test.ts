import { expect, test } from 'vitest';
import { checkFile } from './check.js';

const QUEUES = { J: 2, Q: [3, 0, 1, 0], weights: [3, 2, 0, 0], index: 0, config: [1, 0, 0, 0], weight: 3 };

test('a correct case passes, and a wrong one does not', () => {
  const cases = [QUEUES, { ...QUEUES, index: 1 }];
  const lines = checkFile('max-weight.json', JSON.stringify({ cases }));
  expect(lines.map(({ file, policy, ok }) => ({ file, policy, ok }))).toEqual([
    { file: 'max-weight.json', policy: 'packing', ok: true },
    { file: 'max-weight.json', policy: 'packing', ok: false },
  ]);
});

test('an invalid file is reported by name', () => {
  expect(() => checkFile('x.json', '[1')).toThrow(/^x\.json: /);
  expect(() => checkFile('x.json', '[1]')).toThrow('x.json: not a JSON object');
  expect(() => checkFile('x.json', '{"cases": []}')).toThrow('x.json: these fields match no kind of cases');
});

test.each([
  ['n', 'tasks', /^x\.json: jobs\[0\]\.stages\[0\] has the unknown field 'tasks'; known fields are n, /],
  ['duration', 'durations', /has the unknown field 'durations'; did you mean 'duration'\?/],
  ['n', undefined, /jobs\[0\]\.stages\[0\] has no field 'n'; it is a number, zero or more/],
])('a field %s that is misspelled as %s is reported, and nothing runs forever', (name, wrong, message) => {
  const stage: Record<string, unknown> = { n: 1, demand: [1], duration: 1, parents: [] };
  const { [name]: value, ...rest } = stage;
  const stages = [wrong === undefined ? rest : { ...rest, [wrong]: value }];
  const content = { capacity: [1], jobs: [{ arrive: 0, stages }], expect: { drf: { jct: [1] } } };
  expect(() => checkFile('x.json', JSON.stringify(content))).toThrow(message);
});

test('a number given as text is rejected', () => {
  const stages = [{ n: '2', demand: [1], duration: 1, parents: [] }];
  const content = { capacity: [1], jobs: [{ arrive: 0, stages }], expect: { drf: {} } };
  expect(() => checkFile('x.json', JSON.stringify(content))).toThrow(
    'jobs[0].stages[0].n is "2"; it is a number',
  );
});
