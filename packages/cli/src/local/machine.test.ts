import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { detectMachine } from './machine.js';

test('this machine has whole CPUs and memory, and GPUs by CUDA_VISIBLE_DEVICES or nvidia-smi', async () => {
  const { cpus, memory, gpus } = await detectMachine({ CUDA_VISIBLE_DEVICES: 'GPU-a,3' });
  expect(cpus).toBeGreaterThanOrEqual(1);
  expect(cpus).toBeLessThanOrEqual(availableParallelism());
  expect(memory).toBeLessThanOrEqual(totalmem());
  expect(gpus).toEqual(['GPU-a', '3']);
  expect((await detectMachine({ CUDA_VISIBLE_DEVICES: '2,2,7' })).gpus).toEqual(['2', '7']);
  expect((await detectMachine({ CUDA_VISIBLE_DEVICES: '' })).gpus).toEqual([]);
});

test('nvidia-smi lists the GPUs if there are no device files', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-smi-'));
  try {
    const lines =
      'GPU 0: NVIDIA A100 (UUID: GPU-1)\\n  MIG 1g.5gb Device 0: (UUID: MIG-1)\\nGPU 1: NVIDIA A100 (UUID: GPU-2)\\n';
    writeFileSync(join(folder, 'nvidia-smi'), `#!/bin/sh\nprintf '${lines}'\n`, { mode: 0o755 });
    const { gpus } = await detectMachine({ PATH: `${folder}:/usr/bin:/bin` });
    // A machine with NVIDIA devices has its own number.
    expect(gpus.slice(0, 2)).toEqual(['0', '1']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
