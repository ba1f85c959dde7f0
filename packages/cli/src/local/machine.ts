import { execFile } from 'node:child_process';
import fs from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { promisify } from 'node:util';
import { cgroupLimits } from '@goshawk/core';

/** Resources of this machine that its processes may use. */
interface Machine {
  /** Whole CPUs, at least one. */
  readonly cpus: number;
  /** In bytes. */
  readonly memory: number;
  /** Names of the NVIDIA GPUs, as CUDA_VISIBLE_DEVICES takes them. */
  readonly gpus: readonly string[];
}

/** Time limit (ms) of nvidia-smi, which hangs if a driver is broken. */
const NVIDIA_SMI_MS = 10_000;

/**
 * Returns the resources that this process may use, within its container's limits, its CPU affinity and
 * CUDA_VISIBLE_DEVICES.
 */
export async function detectMachine(environment: Variables): Promise<Machine> {
  const limits = cgroupLimits(fs);
  return {
    cpus: Math.max(1, Math.floor(Math.min(availableParallelism(), limits.cpus))),
    memory: Math.floor(Math.min(totalmem(), limits.memory)),
    gpus: await gpusOf(environment),
  };
}

type Variables = Readonly<Record<string, string | undefined>>;

/** GPUs that CUDA_VISIBLE_DEVICES names, each once. CUDA ignores everything from the first invalid name on, such as `-1`. */
export function visibleGpus(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  const end = names.findIndex((name) => name.startsWith('-') || /^(NoDevFiles|none|void)$/i.test(name));
  const valid = end < 0 ? names : names.slice(0, end);
  return [...new Set(valid.filter((name) => name !== ''))];
}

async function gpusOf({ CUDA_VISIBLE_DEVICES: visible, PATH }: Variables): Promise<readonly string[]> {
  if (visible !== undefined) return visibleGpus(visible);
  const count = deviceCount() || (await countBySmi(PATH));
  return Array.from({ length: count }, (_, index) => `${index}`);
}

function deviceCount(): number {
  try {
    return fs.readdirSync('/dev').filter((name) => /^nvidia\d+$/.test(name)).length;
  } catch {
    return 0;
  }
}

/** Counts GPUs with nvidia-smi, because devices have other names in some virtual machines; 0 if it is not installed. */
async function countBySmi(path: string | undefined): Promise<number> {
  try {
    const { stdout } = await promisify(execFile)('nvidia-smi', ['-L'], {
      timeout: NVIDIA_SMI_MS,
      env: { ...process.env, PATH: path },
    });
    return stdout.split('\n').filter((line) => /^GPU \d+:/.test(line)).length;
  } catch {
    return 0;
  }
}
