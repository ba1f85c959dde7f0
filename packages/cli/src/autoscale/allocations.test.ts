import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { AllocationPool } from './allocations.js';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const { signal } = new AbortController();

/** A pool whose Slurm commands are these shell scripts. */
function pool(commands: Record<string, string>, environment: Record<string, string> = {}): AllocationPool {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-slurm-'));
  folders.push(folder);
  for (const [name, script] of Object.entries(commands))
    writeFileSync(join(folder, name), `#!/bin/sh\ncd ${folder}\n${script}\n`, { mode: 0o755 });
  return new AllocationPool({
    name: 'pool',
    cpus: 1,
    worker: ['goshawk', 'worker'],
    sbatch: [],
    environment: { PATH: `${folder}:${process.env.PATH}`, ...environment },
  });
}

test('allocations that sbatch has started are reported although Slurm refuses the next one', async () => {
  const limited = pool({
    sbatch:
      'cat > /dev/null; echo >> jobs; n=$(wc -l < jobs); [ $n -le 2 ] && echo $n || { echo "sbatch: error: QOSMaxSubmitJobPerUserLimit" >&2; exit 1; }',
  });
  expect((await limited.start(5, signal)).map(({ name }) => name)).toEqual(['pool-1', 'pool-2']);
  await expect(limited.start(3, signal)).rejects.toThrow('sbatch failed: QOSMaxSubmitJobPerUserLimit');
});

test('variables with defaults for squeue do not hide pending allocations', async () => {
  const listed = pool(
    { squeue: '[ "$SQUEUE_STATES" = RUNNING ] || echo "7 PENDING"; echo "8 RUNNING"' },
    { SQUEUE_STATES: 'RUNNING', SQUEUE_PARTITION: 'long' },
  );
  expect((await listed.members(signal)).map(({ name }) => name)).toEqual(['pool-7', 'pool-8']);
});
