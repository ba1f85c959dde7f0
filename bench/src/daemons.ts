import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Daemon, startDaemon } from '@goshawk/cli/testing';
import type { Cluster } from '@goshawk/client';
import type { Millis } from '@goshawk/core';

export { type Daemon, firstLine, GOSHAWK } from '@goshawk/cli/testing';

/** Workers `w0`, `w1`, …, so many a process. */
interface Workers {
  readonly workers: number;
  readonly workersPerProcess: number;
}

/** The daemons of a cluster, which end with this process, and a folder for all that they write. */
export class Daemons {
  folder: string;
  /** Of central, once it has been started. */
  url: string;
  readonly all: Daemon[] = [];

  constructor(folder: string, url = '') {
    this.folder = folder;
    this.url = url;
  }

  /**
   * Starts a daemon and waits until it is up.
   *
   * @param name of its log, which goes on where it was
   * @param args of the command, such as `['scheduler', '--name', 's0']`
   * @param environment all of it
   * @param nodeArgs of Node
   */
  async start(
    name: string,
    args: readonly string[],
    environment: NodeJS.ProcessEnv = process.env,
    nodeArgs: readonly string[] = [],
  ): Promise<Daemon> {
    const daemon = await startDaemon(args, { environment, nodeArgs, logFile: this.#logFileOf(name) });
    this.all.push(daemon);
    return daemon;
  }

  /** At the endpoint of the one before, where there was one. */
  async startCentral(args: readonly string[] = [], ...how: How): Promise<Daemon> {
    const bind = this.url === '' ? 'tcp://127.0.0.1:0' : this.url;
    const central = await this.start('central', ['central', '--bind', bind, ...args], ...how);
    this.url = central.endpoint;
    return central;
  }

  /** With its journal in a folder of its name. */
  startScheduler(name: string, args: readonly string[] = [], ...how: How): Promise<Daemon> {
    return this.start(name, ['scheduler', ...this.#memberArgs(name), ...args], ...how);
  }

  /** With what it writes in a folder of its name. */
  startWorker(name: string, args: readonly string[] = [], ...how: How): Promise<Daemon> {
    return this.start(name, ['worker', ...this.#memberArgs(name), ...args], ...how);
  }

  /** All of them, one process after another. */
  async startWorkers(workers: Workers, args: readonly string[] = []): Promise<void> {
    for (const first of firstOfEach(workers)) await this.startWorkersFrom(first, workers, args);
  }

  /** The process that has the workers from this one on. */
  startWorkersFrom(
    first: number,
    { workers, workersPerProcess }: Workers,
    args: readonly string[] = [],
  ): Promise<Daemon> {
    const count = Math.min(workersPerProcess, workers - first);
    const numbers = ['--numbered', '--workers', `${count}`, '--first-number', `${first}`];
    const shares = ['--memory-shares', `${workers}`];
    const name = `w${first}`;
    return this.start(name, ['worker', ...this.#memberArgs('w', name), ...numbers, ...shares, ...args]);
  }

  /** All of a small cluster but its schedulers. */
  async startCentralAndWorkers(workers = 4): Promise<void> {
    await this.startCentral();
    await this.startWorkers({ workers, workersPerProcess: workers }, ['--slots', '4']);
  }

  logOf(name: string): string {
    return readFileSync(this.#logFileOf(name), 'utf8');
  }

  /** The HTTP door of a daemon that was started with `WITH_HTTP`, as it says in its log. */
  async doorOf(name: string): Promise<string> {
    const found = () => /.*"url":"(http:[^"]+)"/s.exec(this.logOf(name))?.[1];
    await until(() => found() !== undefined);
    return found()!;
  }

  /** Ends all as a crash would, the last one first. */
  async stop(): Promise<void> {
    for (const daemon of this.all.splice(0).reverse()) await daemon.kill();
    this.url = '';
  }

  #logFileOf(name: string): string {
    return join(this.folder, 'logs', `${name}.log`);
  }

  #memberArgs(name: string, folder = name): string[] {
    return ['--name', name, '--central-url', this.url, '--data-folder', join(this.folder, folder)];
  }
}

/** Environment and arguments of Node, as `start` has them. */
type How = [environment?: NodeJS.ProcessEnv, nodeArgs?: readonly string[]];

export const WITH_HTTP = ['--http', '127.0.0.1:0'] as const;

/** The first worker of each process. */
export function firstOfEach({ workers, workersPerProcess }: Workers): number[] {
  return Array.from({ length: Math.ceil(workers / workersPerProcess) }, (_, at) => at * workersPerProcess);
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
