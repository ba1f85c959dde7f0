import { setTimeout as pause } from 'node:timers/promises';
import { type Cluster, connect } from '@goshawk/client';
import { isFinal, type Millis, Random } from '@goshawk/core';
import { Folder } from '../script.js';
import { startUp } from '../up.js';
import type { Knowledge, Outcome, Stated } from './worlds.js';

const WORKERS = 8;
const CPUS = 2;
/** CPU time submitted per time and CPU. */
const LOAD = 0.8;
/** Tasks of a job, at most. */
const TASKS_MAX = 8;
/** Mean run time of the jobs' tasks, and the spread of its logarithm between jobs and between the tasks of one. */
const RUN_MS: Millis = 6_000;
const SPREAD_OF_JOBS = 0.6;
const SPREAD_OF_TASKS = 0.3;
const POLL_MS: Millis = 500;

/** Jobs of one shape have one name, so that an estimator learns from earlier ones. */
const NAMES = 6;

/**
 * Submits jobs to a cluster of real processes, and compares the ends that it states with the actual ones. `known`: tasks that
 * declare their run times; `history`: commands, whose names repeat; `none`: commands with names of their own.
 */
export async function liveEnds(knowledge: Knowledge, seed: string, forMs: Millis): Promise<Outcome> {
  using folder = new Folder('ends');
  const shape = ['--workers', `${WORKERS}`, '--cpus', `${CPUS}`, '--schedulers', '2'];
  await using up = await startUp(folder.path, shape);
  await using cluster = await connect(up.url);
  const random = Random.seeded(`live ends ${seed}`);
  const open = new Map<string, Map<number, Omit<Stated, 'actualMs'>>>();
  const begin = performance.now();
  const submitting = submitAll(cluster, knowledge, random, forMs);
  let [asked, unknown] = [0, 0];
  let isSubmitted = false;
  void submitting.then(() => {
    isSubmitted = true;
  });
  const computed = new Set<number>();
  for (;;) {
    const { jobs } = await cluster.jobs({ states: ['waiting', 'running'] });
    for (const { id, expectedEnd } of jobs) {
      asked++;
      if (expectedEnd === undefined) unknown++;
      else {
        const { at, earliest, latest, computedAt } = expectedEnd;
        const stated = open.get(id) ?? new Map<number, Omit<Stated, 'actualMs'>>();
        open.set(id, stated);
        computed.add(computedAt);
        stated.set(computedAt, {
          ...{ job: id, inMs: at - computedAt },
          ...{ earliestMs: earliest - computedAt, latestMs: latest - computedAt },
        });
      }
    }
    if (isSubmitted && jobs.length === 0) break;
    if (performance.now() - begin > 4 * forMs) throw new Error('the jobs did not end in time');
    await pause(POLL_MS);
  }
  await submitting;
  const ended = await cluster.jobs({ all: true, limit: 10_000 });
  const stated = ended.jobs.flatMap(({ id, state, submittedAt, endedMs }): Stated[] => {
    if (!isFinal(state) || endedMs === undefined) return [];
    return [...(open.get(id) ?? [])].map(([computedAt, each]) => ({
      ...each,
      actualMs: Math.max(0, submittedAt + endedMs - computedAt),
    }));
  });
  return { stated, unknown, asked, forecasts: computed.size, tookMs: Number.NaN };
}

async function submitAll(
  cluster: Cluster,
  knowledge: Knowledge,
  random: Random,
  forMs: Millis,
): Promise<void> {
  const shapes = Array.from({ length: NAMES }, () => RUN_MS * lognormal(random, SPREAD_OF_JOBS));
  const begin = performance.now();
  for (let number = 0, atMs = 0; atMs < forMs; number++) {
    const shape = Math.floor(random.next() * NAMES);
    const count = 1 + Math.floor(random.next() * TASKS_MAX);
    const runsMs = Array.from({ length: count }, () =>
      Math.round(shapes[shape]! * lognormal(random, SPREAD_OF_TASKS)),
    );
    await cluster.submit({
      name: knowledge === 'none' ? `job-${number}` : `shape-${shape}`,
      tasks: runsMs.map((ms) =>
        knowledge === 'known' ? { sleep: ms } : { exec: ['sleep', `${ms / 1_000}`] },
      ),
    });
    const workMs = runsMs.reduce((sum, ms) => sum + ms, 0);
    atMs += workMs / (LOAD * WORKERS * CPUS);
    await pause(Math.max(0, begin + atMs - performance.now()));
  }
}

/** A positive factor, 1 in the middle. */
function lognormal(random: Random, sigma: number): number {
  // The sum of twelve uniform numbers is close to normal.
  let sum = -6;
  for (let draw = 0; draw < 12; draw++) sum += random.next();
  return Math.exp(sigma * sum);
}
