import { Random } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { buildComparison, mergeComparisons } from './compare.js';
import type { Interval } from './comparison.js';
import { intervalMethod, type JobTimes, ratioIntervals } from './intervals.js';
import { sample } from './sample-runs.fixture.js';
import { comparisonText } from './table.js';

const JOBS = 2_000;

/** Draws exponential run times of mean 1, or 10 for every tenth job, times a random factor per job. */
function times(policy: string, seed: number, factor: (random: Random) => number): JobTimes {
  const drawn = Random.seeded(seed).fork('jobs');
  const noise = Random.seeded(seed).fork(policy);
  const isLong = Uint8Array.from({ length: JOBS }, (_, job) => (job % 10 === 0 ? 1 : 0));
  const runtimeSeconds = Float64Array.from(isLong, (long) => {
    return -Math.log(1 - drawn.next()) * (long === 1 ? 10 : 1) * factor(noise);
  });
  return { policy, seed, runtimeSeconds, isLong };
}

const method = intervalMethod(JOBS, 1);
const width = ([low, high]: Interval) => high - low;

describe('intervals of a ratio', () => {
  test('include the true ratio, and are narrow if the runs have similar jobs', () => {
    const half = times('half', 1, () => 0.5);
    const whole = times('whole', 1, () => 1);
    const { short, long } = ratioIntervals([[half, whole]], method);
    for (const { p50, p90, mean } of [short, long]) {
      for (const interval of [p50, p90, mean]) {
        expect(interval![0]).toBeCloseTo(0.5, 10);
        expect(interval![1]).toBeCloseTo(0.5, 10);
      }
    }
  });

  test('include the true ratio of noisy runs about as often as the level states', () => {
    let held = 0;
    const seeds = 60;
    for (let seed = 1; seed <= seeds; seed++) {
      // The means are 0.8 and 1.
      const pair = [times('a', seed, (r) => 1.6 * r.next()), times('b', seed, (r) => 2 * r.next())] as const;
      const [low, high] = ratioIntervals([pair], { ...method, resamples: 200 }).short.mean!;
      if (low <= 0.8 && 0.8 <= high) held++;
    }
    // 95% of 60 is 57; a correct method yields fewer than 51 once in a thousand times.
    expect(held).toBeGreaterThanOrEqual(51);
  });

  test('are reproducible, and narrower with more seeds that agree', () => {
    const pair = (seed: number) =>
      [times('a', seed, (r) => 1.6 * r.next()), times('b', seed, (r) => 2 * r.next())] as const;
    const one = ratioIntervals([pair(1)], method);
    expect(ratioIntervals([pair(1)], method)).toEqual(one);
    const eight = ratioIntervals([1, 2, 3, 4, 5, 6, 7, 8].map(pair), method);
    expect(width(eight.short.mean!)).toBeLessThan(width(one.short.mean!));
  });

  test('are null for a class without jobs', () => {
    const short = { ...times('a', 1, () => 1), isLong: new Uint8Array(JOBS) };
    const { long } = ratioIntervals([[short, { ...short, policy: 'b' }]], method);
    expect(long).toEqual({ p50: null, p90: null, mean: null });
  });
});

test('a comparison describes the numbers in brackets', () => {
  const { workload, cluster, runs } = sample().comparison;
  const [first, other] = runs;
  const paired = [times(first!.policy, first!.seed, () => 0.5), times(other!.policy, other!.seed, () => 1)];
  const comparison = buildComparison({ workload, cluster, runs, times: paired });
  expect(comparison.intervals).toEqual({ level: 0.95, resamples: 1_000, over: 'jobs' });
  const text = comparisonText(comparison, { color: false });
  expect(text).toMatch(/\(0\.50–0\.50×\)/);
  expect(text.replaceAll(/\s+/g, ' ')).toContain(
    'brackets show 95% confidence intervals from a paired bootstrap over jobs',
  );
});

test('comparisons of one workload are merged, and those of two are rejected', () => {
  const { comparison } = sample();
  const merged = mergeComparisons([
    { name: 'a', comparison },
    { name: 'b', comparison },
  ]);
  const [first, second] = comparison.runs.map(({ policy }) => policy);
  expect(merged.runs.map(({ policy }) => policy)).toEqual([
    `${first} (a)`,
    `${second} (a)`,
    `${first} (b)`,
    `${second} (b)`,
  ]);
  const other = { ...comparison, workload: { ...comparison.workload, sha256: 'other' } };
  expect(() =>
    mergeComparisons([
      { name: 'a', comparison },
      { name: 'b', comparison: other },
    ]),
  ).toThrow('compare runs of one workload');
});
