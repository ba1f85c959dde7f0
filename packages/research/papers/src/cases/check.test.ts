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
  ['n', undefined, /jobs\[0\]\.stages\[0\] has no field 'n'; it is a whole number/],
])('a field %s that is misspelled as %s is reported, and nothing runs forever', (name, wrong, message) => {
  const stage: Record<string, unknown> = { n: 1, demand: [1], duration: 1, parents: [] };
  const { [name]: value, ...rest } = stage;
  const stages = [wrong === undefined ? rest : { ...rest, [wrong]: value }];
  const content = { capacity: [1], jobs: [{ arrive: 0, stages }], expect: { drf: { jct: [1] } } };
  expect(() => checkFile('x.json', JSON.stringify(content))).toThrow(message);
});

const schedule = (stages: unknown[], more: object = {}) =>
  JSON.stringify({ capacity: [1], jobs: [{ arrive: 0, stages }], expect: { drf: { jct: [1] } }, ...more });
const stage = { n: 1, demand: [1], duration: 1, parents: [] as number[] };

test.each<[what: string, text: string, message: string]>([
  [
    'two billion tasks',
    schedule([{ ...stage, n: 2e9 }]),
    'n is 2000000000; it is a whole number from 0 to 1000000',
  ],
  ['part of a task', schedule([{ ...stage, n: 1.5 }]), 'n is 1.5; it is a whole number'],
  [
    'a stage that is not there',
    schedule([{ ...stage, parents: [1] }]),
    'parents has 1, and there are 1 stages',
  ],
  ['a cycle', schedule([{ ...stage, parents: [0] }]), 'jobs[0].stages depend on each other in a cycle'],
  ['a demand of two resources', schedule([{ ...stage, demand: [1, 1] }]), 'demand has 2 amounts'],
  [
    'a text as capacity',
    schedule([stage], { capacity: ['1'] }),
    'the capacity or share is ["1"]; it is a list of',
  ],
  ['null as stages', schedule([null]), 'jobs[0].stages[0] is not an object'],
  ['a repeated field', '{"capacity": [1], "capacity": [2]}', 'capacity: the field appears twice'],
  [
    'billions of sizes',
    '{"sets": {"2000000000": []}}',
    'sets.2000000000 is not a J; it is a whole number from 2',
  ],
  [
    'a size of a whole and more',
    '{"sizes": ["3/2"], "types": {"2": [0]}}',
    'sizes[0] is "3/2"; it is a fraction',
  ],
  ['null as types', '{"sizes": ["1"], "types": null}', 'these fields match no kind of cases'],
  [
    'billions of servers',
    '{"cases": [{"servers": 2e9, "J": 2, "script": [], "runs": []}]}',
    'cases[0].servers is 2000000000; it is a whole number',
  ],
  [
    'another policy',
    '{"cases": [{"servers": 1, "J": 2, "script": [], "runs": [{"policy": "toString", "steps": []}]}]}',
    'there is no policy "toString"; known: fifoff',
  ],
  [
    'a problem of texts',
    '{"problem": {"pending": []}, "answer": {"objective": 1}}',
    "problem has no field 'now'",
  ],
])('a file with %s is rejected', (_, text, message) => {
  expect(() => checkFile('x.json', text)).toThrow(message);
});

test('a number given as text is rejected', () => {
  const stages = [{ n: '2', demand: [1], duration: 1, parents: [] }];
  const content = { capacity: [1], jobs: [{ arrive: 0, stages }], expect: { drf: {} } };
  expect(() => checkFile('x.json', JSON.stringify(content))).toThrow(
    'jobs[0].stages[0].n is "2"; it is a whole number',
  );
});
