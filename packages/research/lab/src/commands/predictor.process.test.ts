import { TestCluster } from '@goshawk/cli/testing';
import type { EstimatorScore } from '@goshawk/predictor';
import { afterAll, beforeAll, expect, it } from 'vitest';

let up: TestCluster;

beforeAll(async () => {
  up = await TestCluster.start(['--workers', '4', '--schedulers', '2', '--shadow', 'pilot,history']);
});

afterAll(async () => {
  await up.stop();
});

it('shadow estimators of a cluster are scored over all its schedulers', async () => {
  const before = await up.goshawk(['predictor']);
  expect(before.stderr).toContain('no job was submitted yet');
  for (let job = 0; job < 6; job++) {
    await up.goshawk(['submit', '--name', 'nightly', '--tasks', '4', '--sleep', '20ms', '--wait']);
  }
  const { stdout } = await up.goshawk(['predictor', '--json']);
  const { schema, estimators } = JSON.parse(stdout) as { schema: string; estimators: EstimatorScore[] };
  expect(schema).toBe('goshawk.predictor/1');
  expect(estimators.map(({ estimator }) => estimator).sort()).toEqual(['history', 'pilot']);
  for (const { jobs, misclassifiedJobsPercent } of estimators) {
    expect([jobs, misclassifiedJobsPercent]).toEqual([6, 0]);
  }
  expect(estimators.find(({ estimator }) => estimator === 'pilot')!.pilots).toBe(6);
  const shown = await up.goshawk(['predictor']);
  expect(shown.stdout).toContain('estimators in shadow: 6 jobs');
});
