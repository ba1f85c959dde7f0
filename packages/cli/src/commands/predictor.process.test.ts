import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EstimatorScore } from '@goshawk/predictor';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type RunningGoshawk, runGoshawk, startGoshawk } from '../goshawk-process.fixture.js';

let folder = '';
let up: RunningGoshawk;
let environment: NodeJS.ProcessEnv = {};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-predictor-test-'));
  environment = { XDG_STATE_HOME: folder };
});

afterEach(async () => {
  up.kill('SIGKILL');
  await up.finished;
  await rm(folder, { recursive: true });
});

it('estimators in shadow of a cluster are scored over all its schedulers', async () => {
  const size = ['--workers', '4', '--schedulers', '2', '--data-folder', join(folder, 'data')];
  up = startGoshawk(['up', ...size, '--shadow', 'pilot,history'], environment);
  await up.says(/the cluster is up at/);
  const before = await runGoshawk(['predictor'], environment);
  expect(before.stderr).toContain('no job came yet');
  for (let job = 0; job < 6; job++) {
    await runGoshawk(
      ['submit', '--name', 'nightly', '--tasks', '4', '--sleep', '20ms', '--wait'],
      environment,
    );
  }
  const { stdout } = await runGoshawk(['predictor', '--json'], environment);
  const { schema, estimators } = JSON.parse(stdout) as { schema: string; estimators: EstimatorScore[] };
  expect(schema).toBe('goshawk.predictor/1');
  expect(estimators.map(({ estimator }) => estimator).sort()).toEqual(['history', 'pilot']);
  for (const { jobs, misclassifiedJobsPercent } of estimators) {
    expect([jobs, misclassifiedJobsPercent]).toEqual([6, 0]);
  }
  expect(estimators.find(({ estimator }) => estimator === 'pilot')!.pilots).toBe(6);
  const shown = await runGoshawk(['predictor'], environment);
  expect(shown.stdout).toContain('estimators in shadow: 6 jobs');
});
