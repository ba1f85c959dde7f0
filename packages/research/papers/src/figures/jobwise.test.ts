import { describe, expect, test } from 'vitest';
import {
  estimateAccuracy,
  type JobDetails,
  ratioCourse,
  ratioShares,
  speedup,
  waitShares,
  windowLoad,
} from './jobwise.js';

function runOf(seconds: readonly number[], details: Partial<Record<keyof JobDetails, number[]>> = {}) {
  const column = (values: number[] | undefined) => Float64Array.from(values ?? seconds.map(() => Number.NaN));
  return {
    jobs: {
      runtimeSeconds: Float64Array.from(seconds),
      details: {
        submitSeconds: column(details.submitSeconds),
        tasks: column(details.tasks ?? seconds.map(() => 10)),
        normalisedWaits: column(details.normalisedWaits),
        meanSeconds: column(details.meanSeconds),
        estimateSeconds: column(details.estimateSeconds),
        ratioPercents: column(details.ratioPercents),
      },
    },
  };
}

describe('speed-up', () => {
  test('on average is that of the means, and P50 that of the jobs', () => {
    // Means 30 and 20; ratios 1, 1, 2.5.
    expect(speedup([runOf([10, 30, 20])], [runOf([10, 30, 50])])).toEqual({ average: 1.5, p50: 1 });
  });

  test('ignores jobs that did not complete under both', () => {
    const { average } = speedup([runOf([10, Number.NaN])], [runOf([20, 50])])!;
    expect(average).toBe(2);
  });

  test('is the mean over the seeds', () => {
    expect(speedup([runOf([10]), runOf([10])], [runOf([10]), runOf([30])])?.average).toBe(2);
  });
});

test('waits are divided into three segments, and compared if both are in the same', () => {
  const ours = runOf([1, 1, 1, 1], { normalisedWaits: [0, 1, 2, 3], tasks: [3, 3, 3, 3] });
  const theirs = runOf([1, 1, 1, 1], { normalisedWaits: [0.01, 5, 4, 2], tasks: [3, 3, 3, 3] });
  expect(waitShares([ours], [theirs])).toEqual({
    none: { own: 0.25, common: 0.25, lower: 1 },
    moderate: { own: 0.25, common: 0, lower: undefined },
    long: { own: 0.5, common: 0.5, lower: 0.5 },
  });
});

test('the load of a window is the work that arrives in it over the capacity', () => {
  // The first of eleven windows has the job at 0; the others have the one at 1,000.
  const run = runOf([1, 1, 1], {
    submitSeconds: [1_000, 0, 2_000],
    tasks: [2, 1, 1],
    meanSeconds: [500, 100, 900],
  });
  const { p50, p90, largestShare } = windowLoad([run, run], 10)!;
  expect([p50, p90]).toEqual([0.1, 0.1]);
  expect(largestShare).toBe(0.5);
  expect(windowLoad([{}], 10)).toBeUndefined();
});

test('jobs with few tasks do not count in waits and estimates', () => {
  const thin = runOf([1], { tasks: [2], normalisedWaits: [1], meanSeconds: [1], estimateSeconds: [1] });
  expect(waitShares([thin], [thin])).toBeUndefined();
  expect(estimateAccuracy([thin])).toBeUndefined();
});

test('a job is in the right queue when its estimated and its true size are between the same powers of ten', () => {
  const run = runOf([1, 1, 1], {
    tasks: [10, 10, 10],
    meanSeconds: [10, 50, 200],
    estimateSeconds: [90, 150, 100],
  });
  expect(estimateAccuracy([run])).toEqual({ errorP50: 2, rightQueueShare: 2 / 3 });
});

test('ratios are shares of the sampled jobs', () => {
  const run = runOf([1, 1, 1], { ratioPercents: [3, 3, Number.NaN] });
  expect([...ratioShares([run, runOf([1], { ratioPercents: [2] })])]).toEqual([
    [3, 2 / 3],
    [2, 1 / 3],
  ]);
});

test('the sequence of ratios is that of the first seed, without jobs that were not sampled', () => {
  const first = runOf([1, 1, 1, 1], { ratioPercents: [3, Number.NaN, 4, 3] });
  expect(ratioCourse([first, runOf([1], { ratioPercents: [5] })])).toEqual([3, 4, 3]);
  expect(ratioCourse([runOf([1])])).toBeUndefined();
});
