import {
  type ClusterOutline,
  DEFAULT_POLICY,
  type Millis,
  parseUsers,
  placesOf,
  Random,
  RELIABLE_TIMINGS,
  type Resources,
  sumOf,
  type UserGrants,
} from '@goshawk/core';
import { presetNamed } from '@goshawk/policies';
import { Forecaster, VirtualCluster } from '@goshawk/simulator';
import { configureGenerator, jobSpecOf, type TraceJob } from '@goshawk/traces';

/** What a cluster knows about run times. */
export const KNOWLEDGE = ['known', 'history', 'none'] as const;
export type Knowledge = (typeof KNOWLEDGE)[number];

interface World {
  readonly name: string;
  readonly workload: string;
  readonly workers: number;
  readonly slots: number;
  readonly capacity: Resources;
  /** CPU time submitted per time and CPU. */
  readonly load: number;
  readonly users?: UserGrants;
}

const GIB = 1024 ** 3;
const USERS = ['ana', 'ben', 'cleo', 'dan', 'eve'];

/** Workloads as data; the forecast is not adjusted to any of them. */
export const WORLDS: readonly World[] = [
  {
    name: 'google-like',
    workload: 'google-like:jobs=800',
    workers: 100,
    slots: 1,
    capacity: { cpu: 1 },
    load: 0.9,
  },
  {
    name: 'e2e',
    workload: 'e2e:jobs=400',
    workers: 40,
    slots: 4,
    capacity: { cpu: 4, memory: 64 * GIB },
    load: 0.8,
  },
  {
    name: 'mixed',
    workload: 'mixed:jobs=400',
    workers: 20,
    slots: 4,
    capacity: { cpu: 4, memory: 8 * GIB, gpu: 1 },
    load: 0.9,
  },
  {
    name: 'users',
    workload: 'google-like:jobs=800,seed=7',
    workers: 100,
    slots: 1,
    capacity: { cpu: 1 },
    load: 1.1,
    users: parseUsers(
      '{"ana": {"weight": 3}, "ben": {"weight": 2, "running": 20}, "*": {"weight": 1}}',
      'users',
    ),
  },
];

/** An expected end that a cluster stated, and when the job ended. Times count from the forecast. */
export interface Stated {
  readonly job: string;
  readonly inMs: Millis;
  readonly earliestMs: Millis;
  readonly latestMs: Millis;
  readonly actualMs: Millis;
}

export interface Outcome {
  readonly stated: readonly Stated[];
  /** Forecasts of active jobs without an end, of all. */
  readonly unknown: number;
  readonly asked: number;
  readonly forecasts: number;
  /** Processor time of the forecasts. */
  readonly tookMs: Millis;
}

/**
 * Runs a workload in virtual time, under forecasts that a cluster would compute.
 *
 * @param forecasts about how many, evenly spaced
 */
export function forecastWorld(
  world: World,
  knowledge: Knowledge,
  policy: string,
  forecasts: number,
): Outcome {
  const jobs = arrivalsOf(world);
  const spanMs = jobs.at(-1)!.atMs;
  const forecaster = new Forecaster(() => performance.now());
  const open = new Map<string, (Omit<Stated, 'actualMs'> & { readonly at: Millis })[]>();
  const stated: Stated[] = [];
  let [asked, known, count, tookMs, active] = [0, 0, 0, 0, 0];
  const cluster = new VirtualCluster({
    workers: world.workers,
    slots: world.slots,
    places: placesOf(world.slots),
    capacity: world.capacity,
    schedulers: 2,
    settings: {
      policy: {
        ...DEFAULT_POLICY,
        policy,
        preset: presetNamed(policy),
        estimator: knowledge === 'history' ? 'auto' : 'given',
      },
      timings: RELIABLE_TIMINGS,
    },
    users: world.users,
    seed: 1,
    foresee: (outline) => {
      const { ends, tookMs: took } = forecaster.forecast(
        knowledge === 'known' ? outline : undeclared(outline),
      );
      count++;
      tookMs += took;
      asked += sumOf(outline.schedulers, (scheduler) => scheduler.jobs.length);
      for (const [tag, each] of ends) {
        for (const { job, ...end } of each) {
          known++;
          const key = `${tag}/${job}`;
          const before = open.get(key) ?? [];
          open.set(key, before);
          before.push({ job: key, ...end, at: outline.at });
        }
      }
      return { ends, planned: [], tookMs: spanMs / forecasts / PAUSE_FACTOR };
    },
    onJobEnd: (job, now) => {
      active--;
      const owner = cluster.schedulers.findIndex((_, index) => job.id.startsWith(`s${index}-`));
      const key = `s${owner}/${job.number}`;
      for (const { at, ...end } of open.get(key) ?? [])
        if (job.state === 'completed') stated.push({ ...end, actualMs: now - at });
      open.delete(key);
    },
  });
  for (const [index, { job, atMs }] of jobs.entries()) {
    active++;
    const meanMs = (1_000 * sumOf([...job.durationsSeconds])) / job.durationsSeconds.length;
    const spec = jobSpecOf(job, knowledge === 'known' ? meanMs : undefined, `${index}`);
    cluster.submitAt(1_000 + atMs, index % 2, spec);
  }
  while (active > 0 && cluster.pendingEvents > 0) cluster.step();
  return { stated, unknown: asked - known, asked, forecasts: count, tookMs };
}

/** As in central. */
const PAUSE_FACTOR = 75;

function arrivalsOf({ workload, workers, slots, load, users }: World): { job: TraceJob; atMs: Millis }[] {
  const all = [...configureGenerator(workload).generate()];
  const random = Random.seeded(workload);
  const workSeconds = sumOf(all, ({ durationsSeconds }) => sumOf([...durationsSeconds]));
  const span = all.at(-1)!.submitSeconds - all[0]!.submitSeconds;
  const stretch = workSeconds / (load * workers * slots) / span;
  return all.map((job) => ({
    job: users === undefined ? job : { ...job, user: USERS[Math.floor(USERS.length * random.next() ** 2)]! },
    atMs: 1_000 * stretch * (job.submitSeconds - all[0]!.submitSeconds),
  }));
}

/** Hides that the tasks only sleep, as commands would. */
function undeclared(outline: ClusterOutline): ClusterOutline {
  return {
    ...outline,
    schedulers: outline.schedulers.map((scheduler) => ({
      ...scheduler,
      jobs: scheduler.jobs.map((job) => ({
        ...job,
        stages: job.stages.map(({ declaredMs: _, declaredDeviationMs: __, ...stage }) => ({
          ...stage,
          running: stage.running.map(({ elapsedMs }) => ({ elapsedMs, declaredMs: 0 })),
        })),
      })),
    })),
  };
}
