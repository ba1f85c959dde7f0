import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Daemon, startDaemon } from '@goshawk/cli/testing';
import type { Cluster } from '@goshawk/client';
import type { Millis } from '@goshawk/core';

export { type Daemon, firstLine, GOSHAWK } from '@goshawk/cli/testing';

export const ANY_PORT = ['--bind', 'tcp://127.0.0.1:0'] as const;

/** Daemons, which end with this process, and a folder for all that they write. */
export class Daemons {
  folder: string;
  readonly all: Daemon[] = [];

  constructor(folder: string) {
    this.folder = folder;
  }

  /**
   * Starts a daemon and waits until it is up.
   *
   * @param name of its log, which goes on where it was
   * @param args of the command, such as `['scheduler', '--name', 's0']`
   * @param environment all of it
   */
  async start(
    name: string,
    args: readonly string[],
    environment: NodeJS.ProcessEnv = process.env,
  ): Promise<Daemon> {
    const logFile = join(this.folder, 'logs', `${name}.log`);
    const daemon = await startDaemon(args, { environment, logFile });
    this.all.push(daemon);
    return daemon;
  }

  /** Workers `w0`, `w1`, …, so many a process. */
  async startWorkers(url: string, all: number, perProcess: number, slots: number): Promise<void> {
    for (let first = 0; first < all; first += perProcess) {
      const args = workerArgs(url, first, Math.min(perProcess, all - first), all, this.folder);
      await this.start(`w${first}`, [...args, '--slots', `${slots}`]);
    }
  }

  /** Ends all as a crash would, the last one first. */
  async stop(): Promise<void> {
    for (const daemon of this.all.splice(0).reverse()) await daemon.kill();
  }
}

/** Of a process that has so many of all the workers `w0`, `w1`, … of a cluster. */
export function workerArgs(url: string, first: number, count: number, all: number, folder: string): string[] {
  const numbers = ['--name', 'w', '--numbered', '--workers', `${count}`, '--first-number', `${first}`];
  const data = ['--data-folder', join(folder, `w${first}`), '--memory-shares', `${all}`];
  return ['worker', ...numbers, ...data, '--central-url', url];
}

/** Returns when so many belong to the cluster. */
export async function allJoined(client: Cluster, workers: number, schedulers = 0): Promise<void> {
  await until(async () => {
    const seen = await client.describe();
    return seen.workers.length >= workers && seen.schedulers.length >= schedulers;
  });
}

/** Returns when it is so, which is asked again and again. */
export async function until(isSo: () => boolean | Promise<boolean>, everyMs: Millis = 50): Promise<void> {
  while (!(await isSo())) await pause(everyMs);
}

/** Jobs of tasks that do nothing, so many at a time, each to its end. */
export async function runJobs(client: Cluster, jobs: number, tasks: number, atOnce: number): Promise<void> {
  let left = jobs;
  const lane = async (): Promise<void> => {
    while (left-- > 0) {
      const job = await client.submit({ name: 'load', tasks: { count: tasks, run: { sleep: 0 } } });
      await job.wait();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}
