import { expect, test } from 'vitest';
import type { ArrivingJob, Estimator, Evidence, SamplePlan } from '../estimator.js';
import { makeEstimator } from '../estimators.js';
import { SLEARN_SETTINGS } from '../settings.js';

const stage = (name: string, tasks: number, startable = false) => ({ name, tasks, startable });
const nightly: ArrivingJob = {
  name: 'nightly',
  tasks: 50,
  startable: 40,
  submittedAt: 0,
  stages: [stage('map', 40, true), stage('reduce', 10)],
};

/** Has learned three runs, with maps of 10 s and reduces of 20 s. */
function trained(name: string): Estimator {
  const estimator = makeEstimator(name, SLEARN_SETTINGS, () => 0.5);
  const runsMs = [...new Array<number>(40).fill(10_000), ...new Array<number>(10).fill(20_000)];
  for (let run = 0; run < 3; run++) {
    estimator.learn({
      job: nightly,
      prediction: { kind: 'unknown' },
      completed: true,
      long: false,
      runtimeMs: 30_000,
      runsMs,
    });
  }
  return estimator;
}

const pilots = (...runsMs: number[]): Evidence => ({
  pilots: runsMs.length,
  runsMs,
  failedRunsMs: [],
  failed: 0,
  elapsedMs: [],
});

test.each(['3sigma', 'point-est', 'history'])(
  '%s estimates each stage from the history of that stage',
  (name) => {
    const prediction = trained(name).predict(nightly);
    const estimate = prediction.kind === 'estimate' ? prediction.estimate : undefined;
    expect(estimate?.stagesMs).toEqual([10_000, 20_000]);
    expect(estimate?.meanMs).toBe((40 * 10_000 + 10 * 20_000) / 50);
  },
);

test('slearn-dag: pilots of the first stage correct the history of the others', () => {
  const estimator = trained('slearn-dag');
  const plan = estimator.predict(nightly) as SamplePlan;
  expect(plan).toMatchObject({ kind: 'sample', pilots: 1, guess: { stagesMs: [10_000, 20_000] } });
  const verdict = estimator.weigh(nightly, plan, pilots(15_000), Number.POSITIVE_INFINITY);
  expect(verdict).toMatchObject({
    kind: 'decided',
    estimate: { stagesMs: [15_000, 30_000], meanMs: 18_000 },
  });
});

test('slearn-dag: history alone decides if the first stage is too small for a sample', () => {
  const narrow = {
    ...nightly,
    tasks: 12,
    startable: 2,
    stages: [stage('map', 2, true), stage('reduce', 10)],
  };
  expect(trained('slearn-dag').predict(narrow)).toMatchObject({
    kind: 'estimate',
    estimate: { stagesMs: [10_000, 20_000] },
  });
});

test('slearn-dag: a job with one stage uses only pilots', () => {
  const { stages: _, ...plain } = nightly;
  const estimator = trained('slearn-dag');
  const plan = estimator.predict(plain) as SamplePlan;
  expect(plan.kind).toBe('sample');
  const verdict = estimator.weigh(plain, plan, pilots(15_000), Number.POSITIVE_INFINITY);
  expect(verdict).toMatchObject({ estimate: { meanMs: 15_000, by: '1 pilot' } });
});
