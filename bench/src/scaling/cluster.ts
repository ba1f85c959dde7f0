import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Cluster, connect } from '@goshawk/client';
import { sumOf } from '@goshawk/core';
import { allJoined, Daemons } from '../daemons.js';
import { processorTime, residentMebibytes } from '../proc.js';

export interface Shape {
  readonly workers: number;
  readonly slots: number;
  readonly schedulers: number;
}

const WORKERS_A_PROCESS = 250;
const SCHEDULERS = fileURLToPath(new URL('schedulers.js', import.meta.url));
export const ROLES = ['central', 'scheduler', 'worker'] as const;

/** ms of the processor, by role. */
export type Costs = Readonly<Record<(typeof ROLES)[number], number>>;

/**
 * A real cluster with journals on disk: central in one process, all schedulers in another, and workers in as few
 * processes as possible.
 */
export class ScaledCluster implements AsyncDisposable {
  readonly client: Cluster;
  readonly #daemons: Daemons;
  readonly #schedulers: ChildProcess;

  private constructor(daemons: Daemons, schedulers: ChildProcess, client: Cluster) {
    this.#daemons = daemons;
    this.#schedulers = schedulers;
    this.client = client;
  }

  static async start({ workers, slots, schedulers: count }: Shape): Promise<ScaledCluster> {
    const folder = mkdtempSync(join(tmpdir(), 'goshawk-scaling-'));
    const daemons = new Daemons(folder);
    const { endpoint: url } = await daemons.startCentral();
    const schedulers = fork(SCHEDULERS, ['scheduler', `${count}`, url, folder]);
    await once(schedulers, 'message');
    await daemons.startWorkers({ workers, workersPerProcess: WORKERS_A_PROCESS }, ['--cpus', `${slots}`]);
    const client = await connect(url, { requestTimeoutMs: 120_000 });
    await allJoined(client, workers);
    return new ScaledCluster(daemons, schedulers, client);
  }

  /** Returns the processor time of each role so far. */
  costs(): Costs {
    const times = processorTime(process.pid);
    return Object.fromEntries(ROLES.map((role) => [role, times.get(role) ?? 0])) as Costs;
  }

  /** Returns the resident memory of all processes, in MiB. */
  residentMebibytes(): number {
    return sumOf([this.#schedulers.pid!, ...this.#daemons.all.map(({ pid }) => pid)], residentMebibytes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    this.#schedulers.kill('SIGKILL');
    if (this.#schedulers.exitCode === null && this.#schedulers.signalCode === null)
      await once(this.#schedulers, 'exit');
    await this.#daemons.stop();
    rmSync(this.#daemons.folder, { recursive: true, force: true });
  }
}
