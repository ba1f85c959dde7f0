import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Cluster, connect } from '@goshawk/client';
import { type Millis, Random, sumOf } from '@goshawk/core';
import { allJoined } from '../daemons.js';
import { readJournals } from '../soak/journals.js';
import { SoakCluster } from '../soak/processes.js';
import { liveInput, type StagedJob, tasksOf, WORKER_RESOURCES, WORKER_SLOTS } from './jobs.js';
import { type Marks, readMarks } from './marks.js';

interface LiveOptions {
  readonly policy: string;
  readonly jobs: readonly StagedJob[];
  readonly workers: number;
  /** Number of workers per process, which are killed together. */
  readonly workersPerProcess: number;
  /** Interval at which a process of workers is killed and restarted; 0: none is killed. */
  readonly killEveryMs: Millis;
  readonly seed: number;
  /** Folder for all files of the run. */
  readonly folder: string;
  readonly note: (line: string) => void;
}

export interface LiveRun {
  /** Time from submission to completion, by job. */
  readonly jctSeconds: readonly number[];
  /** Jobs that did not complete. */
  readonly notCompleted: readonly string[];
  /** Tasks for which the scheduler has no result, or more than one. */
  readonly lost: number;
  readonly doubled: readonly string[];
  readonly marks: Marks;
  readonly kills: number;
  /** The journal: it contains the submitted jobs, and the real run times of tasks. */
  readonly journal: string;
}

const AWAY_MS = 1_000;
const PATIENCE = { requestTimeoutMs: 60_000, renewMs: 1_000 };

/** Runs jobs with stages of commands on a cluster of real processes under one policy. */
export async function runLive(options: LiveOptions): Promise<LiveRun> {
  const { folder, jobs, killEveryMs, note, policy } = options;
  const marks = join(folder, 'marks');
  mkdirSync(marks, { recursive: true });
  const amounts = Object.entries(WORKER_RESOURCES).map(([name, amount]) => `${name}=${amount}`);
  const cluster = new SoakCluster({
    ...options,
    schedulers: 1,
    centralArgs: ['--policy', policy],
    workerArgs: ['--cpus', `${WORKER_SLOTS}`, '--resources', amounts.join(',')],
    onUnexpectedExit: ({ name }, how) => note(`${name} exited unexpectedly: ${how}`),
  });
  try {
    await cluster.start();
    await using client = await connect(cluster.url, PATIENCE);
    await allJoined(client, options.workers);
    const killing = new AbortController();
    const killed = killEveryMs > 0 ? killRepeatedly(cluster, options, killing.signal) : 0;
    const ended = await submitAll(client, jobs, marks);
    killing.abort();
    const kills = await killed;
    const ids = ended.map(({ id }) => id);
    const journal = join(folder, 's0');
    const { results, doubled } = await readJournals([journal]);
    const counted = ids.map((id) => results.get(id) ?? 0);
    return {
      jctSeconds: ended.map(({ tookMs }) => tookMs / 1_000),
      notCompleted: ended.filter(({ state }) => state !== 'completed').map(({ id }) => id),
      lost: sumOf(jobs, (job, place) => Math.max(0, tasksOf(job) - counted[place]!)),
      doubled,
      marks: readMarks(marks, jobs, ids),
      kills,
      journal,
    };
  } finally {
    await cluster.close();
  }
}

interface EndedJob {
  readonly id: string;
  readonly state: string;
  /** The time from submission until the client receives the end. */
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

/** Kills one process of workers after another, and restarts each a second later. @returns the number of kills */
async function killRepeatedly(
  cluster: SoakCluster,
  options: Pick<LiveOptions, 'killEveryMs' | 'seed' | 'note'>,
  signal: AbortSignal,
): Promise<number> {
  const random = Random.seeded(options.seed).fork('kills');
  const workers = cluster.posts.filter(({ role }) => role === 'worker');
  for (let kills = 0; ; kills++) {
    await pause(options.killEveryMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return kills;
    const post = workers[Math.floor(random.next() * workers.length)]!;
    options.note(`the workers from ${post.name} on are killed`);
    await cluster.kill(post);
    await pause(AWAY_MS);
    await cluster.startAt(post);
  }
}
