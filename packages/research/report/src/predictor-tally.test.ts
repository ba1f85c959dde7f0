import { expect, test } from 'vitest';
import { type PredictedJob, PredictorTally } from './predictor-tally.js';

const job: PredictedJob = {
  trueMeanSeconds: 10,
  taskSeconds: 100,
  judgedLong: false,
  estimateSeconds: 10,
  pilots: 0,
  decidedSeconds: undefined,
};

function accuracyOf(...jobs: Partial<PredictedJob>[]) {
  const tally = new PredictorTally(50);
  for (const fields of jobs) tally.add({ ...job, ...fields });
  return tally.accuracy();
}

test('errors are over the jobs with an estimate', () => {
  const accuracy = accuracyOf(
    { estimateSeconds: 12 },
    { estimateSeconds: 5 },
    { estimateSeconds: 10 },
    { estimateSeconds: undefined },
    { trueMeanSeconds: 0, estimateSeconds: 1 },
  );
  expect(accuracy.meanAbsoluteErrorPercent).toBeCloseTo(70 / 3);
  expect(accuracy.medianAbsoluteErrorPercent).toBeCloseTo(20);
  expect(accuracy.p90AbsoluteErrorPercent).toBeCloseTo(50);
});

test('misclassified jobs count by their work', () => {
  const accuracy = accuracyOf(
    { taskSeconds: 600 },
    { taskSeconds: 300, trueMeanSeconds: 50, judgedLong: false },
    { taskSeconds: 100, trueMeanSeconds: 49, judgedLong: true },
  );
  expect(accuracy).toMatchObject({
    misclassifiedPercent: 40,
    takenForShortPercent: 30,
    takenForLongPercent: 10,
  });
  expect(accuracy.misclassifiedJobsPercent).toBeCloseTo(200 / 3);
});

test('pilots and decisions of sampled jobs are counted', () => {
  const sampled = { pilots: 3, decidedSeconds: 7 };
  expect(accuracyOf(sampled, {}, { pilots: 2 })).toMatchObject({
    jobsSampled: 2,
    pilotTasks: 5,
    decisionSeconds: { count: 1, p50: 7 },
  });
  expect(accuracyOf()).toMatchObject({
    meanAbsoluteErrorPercent: null,
    misclassifiedPercent: 0,
    misclassifiedJobsPercent: null,
    decisionSeconds: null,
  });
});
