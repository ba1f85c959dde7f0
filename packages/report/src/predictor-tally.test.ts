import { expect, test } from 'vitest';
import { type JudgedJob, PredictorTally } from './predictor-tally.js';

const job: JudgedJob = {
  trueMeanSeconds: 10,
  taskSeconds: 100,
  judgedLong: false,
  estimateSeconds: 10,
  pilots: 0,
  decidedSeconds: undefined,
};

function accuracyOf(...jobs: Partial<JudgedJob>[]) {
  const tally = new PredictorTally(50);
  for (const fields of jobs) tally.add({ ...job, ...fields });
  return tally.accuracy();
}

test('errors are over the jobs of which something was believed', () => {
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

test('what was treated as the other class counts by its work', () => {
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

test('pilots and decisions are counted where jobs were sampled', () => {
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
