import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stagedJobs } from './jobs.js';
import { runLive } from './live.js';

test('stages keep their order, and each task counts once, while a worker is killed every few seconds', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-staged-'));
  const { notCompleted, lost, doubled, marks, kills } = await runLive({
    policy: 'carbyne',
    jobs: stagedJobs(3, 8, 1_000),
    workers: 8,
    workersPerProcess: 1,
    killEveryMs: 3_000,
    seed: 3,
    folder,
    note: () => {},
  });
  expect({ notCompleted, lost, doubled, wrong: marks.wrong }).toEqual({
    notCompleted: [],
    lost: 0,
    doubled: [],
    wrong: [],
  });
  expect(kills).toBeGreaterThan(1);
  rmSync(folder, { recursive: true, force: true });
});
