import { OWNER, PolicyBench } from '@goshawk/policies/testing';
import { expect, test } from 'vitest';
import { addPapers } from '../../index.js';

addPapers();

test('nothing is killed for a gang that the slots would not help, because its GPU is in use', () => {
  const bench = new PolicyBench('prio', 1, {
    slots: 4,
    capacity: { cpu: 4, gpu: 1 },
    options: { cycleMs: 100 },
  });
  const say = bench.books.declare.bind(bench.books);
  bench.books.declare = (owner, number, facts) =>
    say(owner, number, { ...facts, ...(number < 10 ? { deadlineAt: 1_000_000 } : {}) });
  bench.need(1, { demand: { gpu: 1 } });
  for (const job of [10, 11]) {
    bench.now += 1_000;
    bench.need(job, {});
  }
  expect(bench.busy).toBe(3);
  bench.now += 1_000;
  bench.need(2, { demand: { gpu: 1 } });
  bench.now += 1_000;
  bench.settle();
  const victims = [10, 11].filter((job) =>
    [...bench.books.job(OWNER, job)!.runs].some((run) => run.isPreempted),
  );
  expect(victims).toEqual([]);
  bench.end(1);
  bench.now += 1_000;
  bench.settle();
  expect([2, 10, 11].map((job) => bench.count(job))).toEqual([1, 1, 1]);
});

test('nothing is killed for a whole GPU that the ends would free only in two parts', () => {
  const bench = new PolicyBench('prio', 1, {
    slots: 4,
    capacity: { cpu: 4, gpu: 2 },
    options: { cycleMs: 100 },
  });
  const say = bench.books.declare.bind(bench.books);
  bench.books.declare = (owner, number, facts) =>
    say(owner, number, { ...facts, ...(number < 10 ? { deadlineAt: 1_000_000 } : {}) });
  // One GPU has 0.6 of an urgent task and 0.4 of another; so has the other.
  for (const [job, gpu] of [
    [1, 0.6],
    [2, 0.6],
    [10, 0.4],
    [11, 0.4],
  ] as const) {
    bench.now += 1_000;
    bench.need(job, { demand: { gpu } });
  }
  expect(bench.busy).toBe(4);
  bench.now += 1_000;
  bench.need(3, { demand: { gpu: 0.8 } });
  bench.now += 1_000;
  bench.settle();
  const victims = [10, 11].filter((job) =>
    [...bench.books.job(OWNER, job)!.runs].some((run) => run.isPreempted),
  );
  expect(victims).toEqual([]);
});
