import { Random, sumOf } from '@goshawk/core';
import type { TraceJob } from '@goshawk/traces';
import { expect, test } from 'vitest';
import { deal, type Rule } from './deal.js';

const WORKERS_OF_EACH = 400;

function job(submitSeconds: number, tasks: number): TraceJob {
  return { submitSeconds, durationsSeconds: new Float64Array(tasks).fill(10), meanSeconds: 10 };
}

function dealt(jobs: readonly TraceJob[], rule: Rule) {
  const random = Random.seeded('deal');
  return deal(jobs, { shards: 4, workersOfEach: WORKERS_OF_EACH, rule, random });
}

/** Returns the number of tasks of each shard. */
const tasksOf = (shards: ReturnType<typeof dealt>): number[] =>
  shards.map((parts) => sumOf(parts, ({ job }) => job.durationsSeconds.length));

test.each(['one', 'shorter of two', 'shorter of two, wide jobs over all'] as const)(
  'keeps every task and the order of submission: %s',
  (rule) => {
    const jobs = Array.from({ length: 300 }, (_, at) => job(at, 1 + (at % 13)));
    const shards = dealt(jobs, rule);
    for (const [of, { durationsSeconds }] of jobs.entries()) {
      const parts = shards.flat().filter((part) => part.of === of);
      expect(sumOf(parts, (part) => part.job.durationsSeconds.length)).toBe(durationsSeconds.length);
    }
    for (const parts of shards) {
      const times = parts.map(({ job }) => job.submitSeconds);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
    }
  },
);

test('divides a job with more tasks than 1% of the workers of a shard evenly among all shards', () => {
  expect(tasksOf(dealt([job(0, 102)], 'shorter of two, wide jobs over all')).toSorted()).toEqual([
    25, 25, 26, 26,
  ]);
  expect(tasksOf(dealt([job(0, 4)], 'shorter of two, wide jobs over all')).toSorted()).toEqual([0, 0, 0, 4]);
});

test('balances work better by the shorter of two than at random', () => {
  const jobs = Array.from({ length: 4_000 }, (_, at) => job(at * 0.1, 160));
  const spread = (rule: Rule): number => {
    const tasks = tasksOf(dealt(jobs, rule));
    return Math.max(...tasks) - Math.min(...tasks);
  };
  expect(spread('shorter of two')).toBeLessThan(spread('one') / 2);
});
