import { describe, expect, test } from 'vitest';
import type { ArrivingJob, EndedJob, Estimator } from '../estimator.js';
import { makeEstimator } from '../estimators.js';
import { SLEARN_SETTINGS } from '../settings.js';
import { medianOf } from './points.js';

const atoms = (...values: number[]) => values.map((at) => ({ from: at, to: at, p: 1 / values.length }));
const MINUTE = 60_000;

test('the median of a distribution splits its probability in half', () => {
  expect(medianOf(atoms(5_000))).toBe(5_000);
  expect(medianOf([{ from: 100, to: 400, p: 1 }])).toBe(250);
  expect(medianOf(atoms(1, 2, 9))).toBe(2);
});

describe('the baselines that predict from history', () => {
  const job = (name: string, tasks = 10): ArrivingJob => ({ name, tasks, startable: tasks, submittedAt: 0 });

  function trained(name: string): Estimator {
    const estimator = makeEstimator(name, SLEARN_SETTINGS, () => 0.5);
    for (const run of [MINUTE, MINUTE, 10 * MINUTE]) {
      const ended: EndedJob = {
        job: job('nightly'),
        prediction: { kind: 'unknown' },
        completed: true,
        long: false,
        runtimeMs: run,
        runsMs: [run],
      };
      estimator.learn(ended);
    }
    return estimator;
  }

  const meanOf = (estimator: Estimator, of: ArrivingJob): number => {
    const prediction = estimator.predict(of);
    return prediction.kind === 'estimate' ? prediction.estimate.meanMs : Number.NaN;
  };

  test('3sigma uses the whole distribution, point-est its median', () => {
    expect(meanOf(trained('3sigma'), job('nightly'))).toBeGreaterThan(MINUTE);
    expect(meanOf(trained('3sigma'), job('nightly'))).toBeLessThan(2 * MINUTE);
    expect(meanOf(trained('point-est'), job('nightly'))).toBe(MINUTE);
  });

  test('a job without similar jobs is estimated at ten minutes', () => {
    const fresh = makeEstimator('3sigma', SLEARN_SETTINGS, () => 0.5);
    expect(fresh.predict(job('new'))).toMatchObject({ estimate: { meanMs: 10 * MINUTE, by: 'no history' } });
  });

  test('3sigma-tl differs from 3sigma only for thin jobs', () => {
    expect(trained('3sigma').predict(job('nightly', 2)).kind).toBe('estimate');
    expect(trained('3sigma-tl').predict(job('nightly', 2))).toEqual({ kind: 'thin' });
    expect(trained('3sigma-tl').predict(job('nightly'))).toEqual(
      expect.objectContaining({
        estimate: expect.objectContaining({ meanMs: meanOf(trained('3sigma'), job('nightly')) }),
      }),
    );
  });

  test.each(['las', 'fifo'])('%s estimates no job', (name) => {
    expect(trained(name).predict(job('nightly'))).toEqual({ kind: 'unknown' });
  });
});
