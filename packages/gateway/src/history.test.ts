import { Histogram, logBounds, nearestRank, useOf } from '@goshawk/core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { History } from './history.js';

const STANDING = { waiting: 3, busy: 2, slots: 4 };

function counters(completed: number, buckets: Record<string, number>) {
  const none = { completed: 0, failed: 0, cancelled: 0 };
  return {
    tasksEnded: { short: { ...none, completed }, long: none },
    queueingMs: { short: buckets, long: {} },
    jobMs: { short: buckets, long: {} },
  };
}

it('shows what happened between two samples, by class', () => {
  const history = new History();
  expect(history.add(0, { s0: counters(100, { '0-10': 1, '10-100': 5 }) }, STANDING)).toBeUndefined();
  const point = history.add(10_000, { s0: counters(150, { '0-10': 1, '10-100': 15 }) }, STANDING);
  expect(point).toMatchObject({ at: 10, waiting: 3, busy: 2, slots: 4, long: { delaySeconds: null } });
  expect(point!.short.tasksPerSecond).toBe(5);
  // Ten values between 10 and 100 ms: the fifth is half way.
  expect(point!.short.delaySeconds).toEqual({ p50: 0.055, p99: expect.closeTo(0.0991, 6) });
});

it('percentiles are within 20% of the exact ones, for any values', () => {
  const bounds = logBounds(1, 1e10);
  const durations = fc.array(
    fc.oneof(fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 1, max: 1e10 })),
    {
      minLength: 1,
      maxLength: 200,
    },
  );
  fc.assert(
    fc.property(durations, (log) => {
      const histogram = new Histogram(bounds);
      for (const ms of log) histogram.add(ms);
      const buckets = Object.fromEntries(
        histogram.counts.map((count, bucket) => [
          `${bounds[bucket - 1] ?? 0}-${bounds[bucket] ?? 'more'}`,
          count,
        ]),
      );
      const history = new History();
      history.add(0, { s0: counters(0, {}) }, STANDING);
      const { short } = history.add(10_000, { s0: counters(log.length, buckets) }, STANDING)!;
      const sorted = Float64Array.from(log).sort();
      for (const [shown, percent] of [
        [short.delaySeconds!.p50, 50],
        [short.delaySeconds!.p99, 99],
        [short.runSeconds!.p90, 90],
      ] as const) {
        const value = nearestRank(sorted, percent);
        expect(Math.abs(1_000 * shown - value)).toBeLessThanOrEqual(Math.max(1, 0.2 * value));
      }
    }),
  );
});

it('counters of a restarted scheduler start at zero, and those of a silent one are kept', () => {
  const history = new History();
  const at = (s0: number, s1: number | undefined) => ({
    s0: counters(s0, {}),
    ...(s1 === undefined ? {} : { s1: counters(s1, {}) }),
  });
  history.add(0, at(1_000, 10), STANDING);
  expect(history.add(10_000, at(20, undefined), STANDING)!.short.tasksPerSecond).toBe(2);
  expect(history.add(20_000, at(20, 40), STANDING)!.short.tasksPerSecond).toBe(3);
});

it('keeps an hour', () => {
  const history = new History();
  for (let at = 0; at <= 2 * 3_600_000; at += 10_000) history.add(at, {}, STANDING);
  expect(history.points.length).toBe(361);
  expect(history.points[0]!.at).toBe(3_600);
});

it('continues if the clock is set back', () => {
  const history = new History();
  for (const at of [0, 3_600_000, 3_610_000, 10_000, 20_000, 30_000]) history.add(at, {}, STANDING);
  expect(history.points.map(({ at }) => at)).toEqual([20, 30]);
});

it('adds up what each user has, from the books of central, with the smaller users together', () => {
  const jobs = Array.from({ length: 14 }, (_, index) => ({
    ...{ id: `a-${index}`, user: `u${index % 13}`, weight: 1, running: 1, waiting: 0 },
    has: { slots: 1 + (index % 13), gpu: index === 0 ? 2 : 0 },
  }));
  const { use, capacity } = useOf({ capacity: { slots: 100, gpu: 4, memory: 0 }, jobs, total: 14 });
  // Under policies in which tasks take slots, these are CPUs; a resource that no worker has is left out.
  expect(capacity).toEqual({ cpu: 100, gpu: 4 });
  expect(use.gpu).toEqual({ u0: 2 });
  expect(Object.keys(use.cpu!)).toHaveLength(11);
  expect(use.cpu).toMatchObject({ u12: 13, u11: 12, '…': 7 });
  const sum = (all: Record<string, number>) => Object.values(all).reduce((total, each) => total + each, 0);
  expect(sum(use.cpu!)).toBe(jobs.reduce((total, { has }) => total + has.slots, 0));
});

it('takes points of central for the times at which it did not poll', () => {
  const history = new History();
  const other = (at: number) => {
    const none = { tasksPerSecond: 1, delaySeconds: null, runSeconds: null };
    return { at, seconds: 120, ...STANDING, use: null, capacity: null, short: none, long: none };
  };
  const now = 10_000_000;
  for (const at of [0, 10_000, 20_000]) history.add(now - 1_000_000 + at, {}, STANDING);
  history.add(now, {}, STANDING);
  const own = history.points.map(({ at }) => at);
  const others = [4_000, 8_500, 9_100, 9_200, 9_800, 10_000].map(other);
  const added = history.fill(others, now);
  // Points older than an hour are left out, and those that a point of this process covers.
  expect(added.map(({ at }) => at)).toEqual([8_500, 9_200, 9_800]);
  expect(history.points.map(({ at }) => at)).toEqual([8_500, ...own.slice(0, 2), 9_200, 9_800, 10_000]);
  expect(history.fill(others, now)).toEqual([]);
});
