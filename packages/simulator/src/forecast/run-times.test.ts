import type { JobOutline, StageOutline } from '@goshawk/core';
import { expect, test } from 'vitest';
import { RunTimes } from './run-times.js';

function stage(completed: number, estimateMs: number, meanMs = 0): StageOutline {
  return {
    ...{ waiting: 5, running: [], after: [], demand: {}, requires: [], gang: undefined, lend: undefined },
    ...{ estimateMs, completed, meanMs, deviationMs: 0 },
    ...{ declaredMs: undefined, declaredDeviationMs: undefined },
  };
}

const jobOf = (...stages: StageOutline[]) => ({ stages }) as unknown as JobOutline;

/** Uncertainty of an estimate after 30 jobs, of which each shows these outlines in turn. */
function sigmaAfter(...outlines: JobOutline[]): number {
  const runTimes = new RunTimes();
  for (let job = 0; job < 30; job++) for (const outline of outlines) runTimes.learn(`s/${job}`, outline);
  return runTimes.of(stage(0, 1_000))!.sigma;
}

test('the error of an estimate is that of the first one, not of one that contains the run times', () => {
  // Tasks take ten times as long as estimated, and then the estimate follows them.
  expect(sigmaAfter(jobOf(stage(0, 1_000)), jobOf(stage(3, 10_000, 10_000)))).toBeGreaterThan(2);
  expect(sigmaAfter(jobOf(stage(0, 1_000)), jobOf(stage(3, 1_000, 1_000)))).toBeLessThan(0.4);
});

test('an estimate that was first seen with completed tasks teaches nothing', () => {
  expect(sigmaAfter(jobOf(stage(3, 10_000, 10_000)))).toBe(0.7);
  expect(sigmaAfter(jobOf(stage(1, 10_000, 10_000)), jobOf(stage(3, 10_000, 10_000)))).toBe(0.7);
});

test('stages of a job have estimates of their own, and jobs that are not listed any more are forgotten', () => {
  const first = jobOf(stage(0, 1_000), stage(0, 5_000));
  const last = jobOf(stage(3, 1_000, 1_000), stage(3, 5_000, 5_000));
  expect(sigmaAfter(first, last)).toBeLessThan(0.3);
  const runTimes = new RunTimes();
  runTimes.learn('s/1', first);
  runTimes.keepOnly(new Set());
  runTimes.learn('s/1', jobOf(stage(3, 90_000, 90_000), stage(3, 90_000, 90_000)));
  expect(runTimes.of(stage(0, 1_000))!.sigma).toBe(0.7);
});
