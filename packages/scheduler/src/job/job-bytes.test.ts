import { type JobInput, parseJobSpec } from '@goshawk/core';
import { expect, test } from 'vitest';
import { DurableBench, FAILED } from '../durable.fixture.js';
import { W1 } from '../lone-scheduler.fixture.js';
import { estimateJobBytes } from './job-bytes.js';

test('the end of a task does not scan the other tasks of its job after a failure', () => {
  let looks = 0;
  const tasks: JobInput['tasks'] = Array.from({ length: 50 }, () => ({ exec: ['true'] }));
  const bench = new DurableBench();
  bench.members(W1);
  const job = bench.accept({ tasks });
  const list = job.spec.stages[0]!.tasks as { each: unknown[] };
  list.each = new Proxy(list.each, {
    get: (each, name) => {
      if (name === 'reduce' || name === 'length' || name === Symbol.iterator) looks++;
      return Reflect.get(each, name) as unknown;
    },
  });
  bench.end(W1, bench.ask(W1, 1)!, FAILED);
  for (let task = 0; task < 20; task++) bench.end(W1, bench.ask(W1, 1)!);
  expect(job.counts).toMatchObject({ completed: 20, failed: 1 });
  expect(looks).toBe(0);
});

const TASKS = { count: 1, run: { sleep: 1 } } as const;
const text = (length: number, at = 0): string => `${at} `.padEnd(length, 'x');
/** An object or list of as many texts of this length. */
const texts = (many: number, length: number) => Array.from({ length: many }, (_, at) => text(length, at));
const byName = <T>(many: number, each: T) => Object.fromEntries(texts(many, 200).map((name) => [name, each]));
const stages = (each: object) =>
  Array.from({ length: 100 }, (_, at) => ({ name: text(200, at), tasks: TASKS, ...each }));

/** Jobs whose size is in one member each, with the least number of times that their text counts. */
const LARGE: readonly (readonly [member: string, copies: number, job: JobInput])[] = [
  ['require', 4, { tasks: TASKS, require: byName(30, texts(12, 200)) }],
  ['prefer', 4, { tasks: TASKS, prefer: byName(30, texts(12, 200)) }],
  ['stages.require', 4, { stages: stages({ require: byName(10, texts(2, 100)) }) }],
  ['stages.name', 1, { stages: stages({}) }],
  ['stages.demand', 1, { stages: stages({ demand: byName(30, 1) }) }],
  ['notify', 1, { tasks: TASKS, notify: `http://a.example/${text(4_000).replace(' ', '')}` }],
  ['after', 1, { tasks: TASKS, after: texts(500, 20).map((id) => `${id.trim().slice(0, 5)}-1`) }],
  ['tasks.exec', 1, { tasks: [{ exec: ['true', text(100_000)] }] }],
  [
    'tasks.env',
    1,
    {
      tasks: [
        { exec: ['true'], env: Object.fromEntries(texts(9, 9_000).map((value, at) => [`V${at}`, value])) },
      ],
    },
  ],
  ['tasks.params', 1, { tasks: [{ exec: ['true'], params: byName(30, text(200)) }] }],
];

test.each(LARGE)('the memory of a job counts the text of its %s', (_member, copies, job) => {
  const plain = estimateJobBytes(parseJobSpec({ tasks: TASKS }));
  const length = JSON.stringify(job).length;
  expect(estimateJobBytes(parseJobSpec(job)) - plain).toBeGreaterThan(0.8 * copies * length - 2_000);
});

test('a plain job takes no more than a job of its user and name does', () => {
  const plain = estimateJobBytes(parseJobSpec({ tasks: TASKS }));
  const named = {
    tasks: TASKS,
    name: 'nightly import',
    demand: { cpu: 2, memory: '1GiB' },
    priority: 'high',
  } as const;
  expect(estimateJobBytes(parseJobSpec(named))).toBe(plain);
});
