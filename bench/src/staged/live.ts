import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Cluster, connect } from '@goshawk/client';
import { type Millis, Random, sumOf } from '@goshawk/core';
import { allJoined, type Daemon, Daemons, firstOfEach } from '../daemons.js';
import { readJournals } from '../soak/journals.js';
import { liveInput, type StagedJob, tasksOf, WORKER_RESOURCES, WORKER_SLOTS } from './jobs.js';
import { type Marks, readMarks } from './marks.js';

interface LiveOptions {
  readonly policy: string;
  readonly jobs: readonly StagedJob[];
  readonly workers: number;
  /** Workers that share a process; those of one are killed together. */
  readonly workersPerProcess: number;
  /** A process of workers is killed each so many ms, and started again; 0: none is. */
  readonly killEveryMs: Millis;
  readonly seed: number;
  /** Everything that a run leaves behind goes here. */
  readonly folder: string;
  readonly note: (line: string) => void;
}

export interface LiveRun {
  /** From submission to completion, by job. */
  readonly jctSeconds: readonly number[];
  /** Jobs that did not complete. */
  readonly notCompleted: readonly string[];
  /** Tasks of which the scheduler has no result, or more than one. */
  readonly lost: number;
  readonly doubled: readonly string[];
  readonly marks: Marks;
  readonly kills: number;
  /** Where the scheduler has written down what was submitted, and how long tasks really ran. */
  readonly journal: string;
}

const AWAY_MS = 1_000;
const PATIENCE = { requestTimeoutMs: 60_000, renewMs: 1_000 };

/** Jobs of stages of commands, on a cluster of real processes under one policy. */
export async function runLive(options: LiveOptions): Promise<LiveRun> {
  const { folder, jobs, killEveryMs } = options;
  const marks = join(folder, 'marks');
  mkdirSync(marks, { recursive: true });
  const cluster = new LiveCluster(options);
  try {
    await cluster.start();
    await using client = await connect(cluster.url, PATIENCE);
    await allJoined(client, options.workers);
    const striking = new AbortController();
    const struck = killEveryMs > 0 ? cluster.strike(striking.signal) : Promise.resolve();
    const ended = await submitAll(client, jobs, marks);
    striking.abort();
    await struck;
    const ids = ended.map(({ id }) => id);
    const journal = join(folder, 's');
    const { results, doubled } = await readJournals([journal]);
    const counted = ids.map((id) => results.get(id) ?? 0);
    return {
      jctSeconds: ended.map(({ tookMs }) => tookMs / 1_000),
      notCompleted: ended.filter(({ state }) => state !== 'completed').map(({ id }) => id),
      lost: sumOf(jobs, (job, place) => Math.max(0, tasksOf(job) - counted[place]!)),
      doubled,
      marks: readMarks(marks, jobs, ids),
      kills: cluster.kills,
      journal,
    };
  } finally {
    await cluster.close();
  }
}

interface EndedJob {
  readonly id: string;
  readonly state: string;
  /** From when it was sent until its end was heard. */
  readonly tookMs: Millis;
}

async function submitAll(client: Cluster, jobs: readonly StagedJob[], marks: string): Promise<EndedJob[]> {
  const beganAt = performance.now();
  return Promise.all(
    jobs.map(async (job): Promise<EndedJob> => {
      await pause(Math.max(0, job.submitMs - (performance.now() - beganAt)));
      const handle = await client.submit(liveInput(job, marks));
      const { state, endedAtMs } = await handle.wait();
      return { id: handle.id, state, tookMs: endedAtMs - handle.sentAtMs! };
    }),
  );
}

/** Central, a scheduler, and workers in processes that may be killed. */
class LiveCluster {
  readonly #options: LiveOptions;
  readonly #random: Random;
  readonly #daemons: Daemons;
  /** By the first of the workers that a process has. */
  readonly #workers = new Map<number, Daemon>();
  kills = 0;

  constructor(options: LiveOptions) {
    this.#options = options;
    this.#daemons = new Daemons(options.folder);
    this.#random = Random.seeded(options.seed).fork('kills');
  }

  get url(): string {
    return this.#daemons.url;
  }

  async start(): Promise<void> {
    await this.#daemons.startCentral(['--policy', this.#options.policy]);
    await this.#daemons.startScheduler('s');
    for (const first of firstOfEach(this.#options)) await this.#startWorkers(first);
  }

  /** Kills one process of workers after another, and starts it again a second later. */
  async strike(signal: AbortSignal): Promise<void> {
    const { killEveryMs, workers, workersPerProcess, note } = this.#options;
    for (;;) {
      await pause(killEveryMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      const process = Math.floor((this.#random.next() * workers) / workersPerProcess);
      const first = process * workersPerProcess;
      note(`the workers from ${first} on are killed`);
      this.kills++;
      await this.#workers.get(first)!.kill();
      await pause(AWAY_MS);
      await this.#startWorkers(first);
    }
  }

  close(): Promise<void> {
    return this.#daemons.stop();
  }

  async #startWorkers(first: number): Promise<void> {
    const amounts = Object.entries(WORKER_RESOURCES).map(([name, amount]) => `${name}=${amount}`);
    const has = ['--slots', `${WORKER_SLOTS}`, '--resources', amounts.join(',')];
    this.#workers.set(first, await this.#daemons.startWorkersFrom(first, this.#options, has));
  }
}
