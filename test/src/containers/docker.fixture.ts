import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Cluster } from '@goshawk/client';
import { getContainerRuntimeClient } from 'testcontainers';
import { expect, inject, vi } from 'vitest';

const containers = inject('containers');

/** Reason why tests of containers do not run here; undefined if they do. Part of test names. */
export const missing: string | undefined = 'missing' in containers ? containers.missing : undefined;

/** The image under test. */
export const image: string = 'image' in containers ? containers.image : '';

/** Labels everything that the tests start, for the sweep at the end. */
export const labels: Readonly<Record<string, string>> = Object.fromEntries([containers.label.split('=')]);

/** Client timeouts: containers restart slowly on a busy machine. */
export const PATIENCE = { connectTimeoutMs: 60_000, requestTimeoutMs: 60_000 };

/** For `describe`: says in its name why it is skipped. */
export function named(name: string): string {
  return missing === undefined ? name : `${name} (skipped: ${missing})`;
}

/** @throws Error with its stderr */
export async function docker(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('docker', args, { maxBuffer: 1 << 26 });
  return stdout;
}

interface Ended {
  readonly code: number;
  readonly output: string;
}

/** Runs a container to its end; stdout and stderr together. */
export async function runToEnd(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const [label, run] = Object.entries(labels)[0]!;
  const variables = Object.entries(environment).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  return new Promise((resolve) => {
    execFile(
      'docker',
      ['run', '--rm', '--label', `${label}=${run}`, ...variables, ...args],
      (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, output: stdout + stderr }),
    );
  });
}

type Dockerode = Awaited<ReturnType<typeof getContainerRuntimeClient>>['container']['dockerode'];

/** Docker's API, for features that testcontainers lacks. */
export async function dockerode(): Promise<Dockerode> {
  return (await getContainerRuntimeClient()).container.dockerode;
}

/** Waits until the client's central knows this many. */
export async function known(client: Cluster, schedulers: number, workers: number): Promise<void> {
  await vi.waitFor(
    async () => {
      const view = await client.describe();
      const active = view.workers.filter(({ state }) => state === 'active');
      expect([view.schedulers.length, active.length]).toStrictEqual([schedulers, workers]);
    },
    { timeout: 150_000, interval: 200 },
  );
}
