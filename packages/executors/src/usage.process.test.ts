import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { Usage } from './contract.js';
import { Executors } from './executors.js';

it('reports the CPU and memory of a command and of its ended children while it runs', async () => {
  const dataFolder = mkdtempSync(join(tmpdir(), 'goshawk-usage-'));
  const executors = new Executors({ dataFolder });
  onTestFinished(async () => {
    await executors.close();
    rmSync(dataFolder, { recursive: true, force: true });
  });
  const used = (command: string): Promise<Usage> =>
    new Promise((resolve, reject) => {
      const run = executors.start(
        { payload: { exec: ['sh', '-c', command] }, env: {}, outputBytesMax: 1_000 },
        {
          output: () => {},
          used(usage) {
            // The first report may come before the command has used its first hundredth of a second.
            if (usage.cpu === 0) return;
            run.kill('cancelled');
            resolve(usage);
          },
          ended: () => reject(new Error('it ended without a report')),
        },
      );
    });
  const busy = await used('while :; do :; done');
  expect(busy.cpu).toBeGreaterThan(0);
  expect(busy.memory).toBeGreaterThan(100_000);
  expect(
    (await used('while :; do sh -c "i=0; while [ \\$i -lt 9999 ]; do i=\\$((i+1)); done"; done')).cpu,
  ).toBeGreaterThan(0);
}, 60_000);
