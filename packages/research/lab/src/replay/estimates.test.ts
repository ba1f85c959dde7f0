import { schedulersEstimator } from '@goshawk/command/policy';
import { InputError } from '@goshawk/core';
import { ESTIMATOR_FORMS } from '@goshawk/predictor';
import { expect, it } from 'vitest';
import { checkEstimator, submissionEstimates } from './estimates.js';

const job = { submitSeconds: 0, durationsSeconds: Float64Array.of(0.1, 0.3), meanSeconds: 0.15 };

it("returns the true mean or the estimate in the trace, the submitter's first", () => {
  expect(submissionEstimates('oracle', 1)(job).estimateMs).toBe(200);
  expect(submissionEstimates('given', 1)(job).estimateMs).toBe(150);
  expect(submissionEstimates('given', 1)({ ...job, estimateSeconds: 0.04 }).estimateMs).toBe(40);
});

it("estimates each stage and uses the submitters' estimates only on request", () => {
  const stages = [
    { name: 'map', after: [], tasks: 1, estimateSeconds: 7 },
    { name: 'reduce', after: [0], tasks: 1 },
  ];
  const submitted = (estimator: string) =>
    submissionEstimates(
      estimator,
      1,
    )({ ...job, stages }).job.stages!.map(({ estimateSeconds }) => estimateSeconds);
  expect(submitted('given')).toEqual([7, undefined]);
  expect(submitted('oracle')).toEqual([0.1, 0.3]);
  expect(submitted('pilot')).toEqual([undefined, undefined]);
});

it('draws noise uniformly between its bounds, reproducibly for a seed', () => {
  const draws = (seed: number) => {
    const submitted = submissionEstimates('noisy:0.1-1.9', seed);
    return Array.from({ length: 2_000 }, () => submitted(job).estimateMs!);
  };
  expect(draws(1)).toEqual(draws(1));
  expect(draws(1)).not.toEqual(draws(2));
  expect(Math.min(...draws(1))).toBeGreaterThanOrEqual(20);
  expect(Math.max(...draws(1))).toBeLessThanOrEqual(380);
  const mean = draws(1).reduce((sum, each) => sum + each, 0) / 2_000;
  // The mean is 200, with a standard deviation of 2.3.
  expect(Math.abs(mean - 200)).toBeLessThan(12);
});

it('only estimators that need the truth are evaluated here, and schedulers use their results', () => {
  expect(['oracle', 'noisy:0.1-1.9', 'given'].map(schedulersEstimator)).toEqual(['given', 'given', 'given']);
});

it.each(['nobody', 'noisy', 'oracle:1', ''])('refuses %j and names the known ones', (text) => {
  expect(() => checkEstimator(text)).toThrow(InputError);
  expect(() => checkEstimator(text)).toThrow(`there is no estimator "${text}"`);
  try {
    checkEstimator(text);
  } catch (error) {
    expect((error as InputError).hint).toBe(`known: ${ESTIMATOR_FORMS}`);
  }
});

it('refuses bounds in the wrong order', () => {
  expect(() => checkEstimator('noisy:1.9-0.1')).toThrow('1.9 is above 0.1');
});
