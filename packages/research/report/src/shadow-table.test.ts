import type { EstimatorScore } from '@goshawk/predictor';
import { expect, test } from 'vitest';
import { buildComparison } from './compare.js';
import type { Comparison } from './comparison.js';
import { renderReport } from './html/page.js';
import { sampleRun } from './sample-runs.fixture.js';
import { renderShadow } from './shadow-table.js';

function score(estimator: string, p50: number | null): EstimatorScore {
  const group = {
    jobs: 120,
    errorPercent: { p50, p90: p50 === null ? null : 3 * p50, mean: p50 },
    misclassifiedJobsPercent: 5,
    misclassifiedTaskSecondsPercent: 7.5,
  };
  return {
    ...group,
    estimator,
    estimated: 120,
    sampled: 40,
    pilots: 60,
    delaySeconds: { mean: 12, p50: 0, p90: 30 },
    bySize: [{ ...group, group: '3–9 tasks' }],
    byRecurrence: [{ ...group, group: 'new' }],
  };
}

function comparisonWith(shadow?: readonly EstimatorScore[]): Comparison {
  const { run } = sampleRun('hawk', 1, 1);
  return buildComparison({
    workload: { name: 'w', sha256: 'f', jobs: 120, tasks: 240, taskSeconds: 50, spanSeconds: 6 },
    cluster: { workers: 4, slots: 1, schedulers: 1, mode: 'simulated' },
    runs: [shadow === undefined ? run : { ...run, shadow }],
  });
}

test('the table has one line per estimator and one column per group of jobs', () => {
  const text = renderShadow(comparisonWith([score('pilot', 4), score('history', 40)]));
  expect(text).toContain('estimators in shadow of hawk, seed 1: 120 jobs');
  expect(text).toMatch(/^pilot +4\.0% +12\.0% +4\.0% +5\.0% +7\.5% +0\.500 +12 s +30 s$/m);
  expect(text).toMatch(/^error p50 \/ p90 +3–9 tasks$/m);
  expect(text).toMatch(/^history +40\.0% \/ 120%$/m);
});

test('unknown values are dashes', () => {
  expect(renderShadow(comparisonWith([score('given', null)]))).toMatch(/^given +– +– +–/m);
});

test('a page shows the scores, too; both are empty without shadow estimators', () => {
  const meta = { command: 'goshawk', generator: 'goshawk 0' };
  expect(renderReport(comparisonWith([score('pilot', 4)]), [], meta).page).toContain('Estimators in shadow');
  expect(renderReport(comparisonWith(), [], meta).page).not.toContain('Estimators in shadow');
  expect(renderShadow(comparisonWith())).toBe('');
});
