import { join } from 'node:path';
import { type Daemon, startDaemon } from '@goshawk/cli/testing';
import type { Cluster } from '@goshawk/client';

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

  /** Ends all as a crash would, the last one first. */
  async stop(): Promise<void> {
    for (const daemon of this.all.splice(0).reverse()) await daemon.kill();
  }
}

/** Of a process that has so many of the workers `w0`, `w1`, … of a cluster. */
export function workerArgs(url: string, first: number, count: number, all: number, folder: string): string[] {
  const numbers = ['--name', 'w', '--numbered', '--workers', `${count}`, '--first-number', `${first}`];
  const data = ['--data-folder', join(folder, `w${first}`), '--memory-shares', `${all}`];
  return ['worker', ...numbers, ...data, '--central-url', url];
}

/** Returns when so many belong to the cluster. */
export async function allJoined(client: Cluster, workers: number, schedulers = 0): Promise<void> {
  for (;;) {
    const seen = await client.describe();
    if (seen.workers.length >= workers && seen.schedulers.length >= schedulers) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
