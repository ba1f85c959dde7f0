import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isSound, soak } from './run.js';

test('jobs have their results, once each, while processes are killed and stopped', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-soak-'));
  const lines: string[] = [];
  const report = await soak({
    folder,
    seed: 5,
    minutes: 0.35,
    workers: 8,
    workersPerProcess: 2,
    schedulers: 2,
    inPostgres: 0,
    jobsPerSecond: 5,
    faultEveryMs: 1_000,
    note: (line) => lines.push(line),
  });
  expect(isSound(report), `${JSON.stringify(report)}\n${lines.join('\n')}`).toBe(true);
  expect(report.accepted).toBeGreaterThan(0);
  rmSync(folder, { recursive: true, force: true });
});
