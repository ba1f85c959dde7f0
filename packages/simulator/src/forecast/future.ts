import {
  attributesByName,
  type ClusterOutline,
  givenFactsOf,
  type JobOutline,
  type JobSpec,
  type Millis,
  NO_RESOURCES,
  present,
  Random,
  RELIABLE_TIMINGS,
  type StageOutline,
} from '@goshawk/core';
import type { Job } from '@goshawk/scheduler';
import { VirtualCluster } from '../virtual-cluster.js';
import { type Known, StageDraws } from './run-times.js';

/** Time for the virtual cluster to register before jobs are submitted. */
const SETTLING_MS: Millis = 1_000;
/** Running tasks start first; jobs with both running and waiting tasks that cannot be split, then; waiting tasks last. */
const WHOLE_AFTER_MS: Millis = 5;
const WAITING_AFTER_MS: Millis = 10;
/** Time between submissions, so that jobs arrive in order. */
const APART_MS = 1e-4;

/** An active job of the outline, and what is known about its stages. */
export interface ActiveJob {
  readonly outline: JobOutline;
  /** Index of its scheduler. */
  readonly owner: number;
  readonly known: readonly Known[];
  /** Standard normal deviate of its mean run time, by future. */
  readonly deviates: readonly number[];
}

/**
 * Continues the cluster in virtual time, with run times drawn for this future, until all jobs have ended.
 *
 * @param eventsMax ends the simulation early
 * @param until index of the only job that matters, with whose end the simulation ends
 * @returns when each job ends, and when that job starts, from now; Infinity: not within the simulation
 */
export function simulateFuture(
  { policy, users, workers, schedulers }: ClusterOutline,
  jobs: readonly ActiveJob[],
  future: number,
  eventsMax: number,
  until?: number,
): { readonly endsMs: Float64Array; readonly startMs: Millis; readonly events: number } {
  const endsMs = new Float64Array(jobs.length);
  const partsLeft = new Int32Array(jobs.length);
  const jobOf = new Map<Job, number>();
  let active = 0;
  const cluster = new VirtualCluster({
    workers: workers.length,
    slots: Math.max(...workers.map(({ slots }) => slots)),
    places: Math.max(...workers.map(({ places }) => places)),
    sizeOf: (worker) => workers[worker]!,
    attributesOf: (worker) => workers[worker]!.attributes,
    schedulers: Math.max(1, schedulers.length),
    // The jobs carry what is known as estimates.
    settings: { policy: { ...policy, estimator: 'given' }, timings: RELIABLE_TIMINGS },
    users,
    seed: `future ${future}`,
    countsUsage: false,
    onJobEnd: (job, now) => {
      const index = jobOf.get(job);
      if (index === undefined) return;
      partsLeft[index]!--;
      active--;
      const endMs = job.state === 'completed' ? now - SETTLING_MS : Number.POSITIVE_INFINITY;
      endsMs[index] = Math.max(endsMs[index]!, endMs);
    },
  });
  const submissions = jobs.flatMap((job, index) => partsOf(job, index, future));
  submissions.sort((one, other) => one.atMs - other.atMs);
  for (const [place, { index, owner, spec, ageMs, atMs }] of submissions.entries()) {
    partsLeft[index]!++;
    active++;
    cluster.at(SETTLING_MS + atMs + place * APART_MS, (now) => {
      const job = cluster.schedulers[owner]!.submit(spec, undefined, now, ageMs);
      if (job.hasEnded) active--;
      else jobOf.set(job, index);
    });
  }
  const isOver = (): boolean => active === 0 || (until !== undefined && partsLeft[until] === 0);
  while (!isOver() && cluster.pendingEvents > 0 && cluster.events < eventsMax) cluster.step();
  for (let index = 0; index < jobs.length; index++)
    if (partsLeft[index]! > 0) endsMs[index] = Number.POSITIVE_INFINITY;
  let startMs = Number.POSITIVE_INFINITY;
  for (const [{ times }, index] of jobOf)
    if (index === until && times.firstStartAt !== undefined)
      startMs = Math.max(0, times.firstStartAt - SETTLING_MS - WAITING_AFTER_MS);
  return { endsMs, startMs, events: cluster.events };
}

/** A submission to the virtual cluster: an active job, or its running or its waiting tasks. */
interface Part {
  readonly index: number;
  readonly owner: number;
  readonly spec: JobSpec;
  readonly ageMs: Millis;
  readonly atMs: Millis;
}

/**
 * Splits a job of one stage into its running and its waiting tasks, so that running tasks of all jobs start before waiting
 * ones. Limits and the order of stages apply to whole jobs, which are therefore not split.
 */
function partsOf({ outline, owner, known, deviates }: ActiveJob, index: number, future: number): Part[] {
  const { stages, ageMs, beginsInMs = 0, endless, maxRunning } = outline;
  const random = Random.seeded(`${outline.job} ${owner} ${future}`);
  const drawn = stages.map((stage, at): DrawnStage => {
    const draws = new StageDraws(known[at]!, deviates[future]!, random.fork(at));
    const running = stage.running.map((run) => draws.remainingMs(run));
    // Jobs on hold, and those that wait for others, start none of their tasks for now.
    const starts = endless === undefined || endless === 'open' ? stage.waiting : 0;
    return {
      stage,
      known: known[at]!,
      running,
      waiting: Array.from({ length: starts }, () => draws.runMs()),
    };
  });
  const runs = drawn.some(({ running }) => running.length > 0);
  const waits = drawn.some(({ waiting }) => waiting.length > 0);
  const part = (which: readonly ('running' | 'waiting')[], atMs: Millis): Part => ({
    ...{ index, owner, ageMs, atMs },
    spec: specOf(outline, drawn, which),
  });
  if (!waits) return runs ? [part(['running'], 0)] : [];
  if (!runs) return [part(['waiting'], WAITING_AFTER_MS + beginsInMs)];
  if (stages.length > 1 || maxRunning !== undefined) return [part(['running', 'waiting'], WHOLE_AFTER_MS)];
  return [part(['running'], 0), part(['waiting'], WAITING_AFTER_MS)];
}

interface DrawnStage {
  readonly stage: StageOutline;
  readonly known: Known;
  readonly running: readonly Millis[];
  readonly waiting: readonly Millis[];
}

function specOf(
  outline: JobOutline,
  drawn: readonly DrawnStage[],
  which: readonly ('running' | 'waiting')[],
): JobSpec {
  const left = drawn.map((each) => which.flatMap((kind) => each[kind]));
  const places = left.map((_, index) => left.slice(0, index).filter(({ length }) => length > 0).length);
  const { name, user, priority, weight, maxRunning, deadlineInMs, prefers, slowdown } = outline;
  // Running tasks have their workers, and measured run times include a slowdown.
  const isSlowed =
    which.includes('waiting') &&
    drawn.every(({ stage }) => stage.declaredMs !== undefined || stage.completed === 0);
  const stages = drawn.flatMap(({ stage, known }, index) => {
    if (left[index]!.length === 0) return [];
    const { after, demand, requires, gang, lend, estimateMs = known.meanMs } = stage;
    return [
      {
        name: `${index}`,
        after: after.filter((before) => left[before]!.length > 0).map((before) => places[before]!),
        tasks: { sleepsMs: left[index]! },
        // Machines compare an empty demand by identity.
        demand: Object.keys(demand).length === 0 ? NO_RESOURCES : demand,
        estimateMs,
        ...present({ requires: requires && attributesByName(requires) }),
        ...(gang ? { gang } : {}),
        ...(lend === false ? { lend } : {}),
      },
    ];
  });
  const tasks = left.reduce((sum, { length }) => sum + length, 0);
  const workMs = stages.reduce((sum, stage) => sum + stage.tasks.sleepsMs.length * stage.estimateMs, 0);
  return {
    ...{ name, user, priority, weight, maxRunning, retries: 0, timeoutMs: undefined },
    // A job that has missed its deadline is due at once.
    deadlineMs: deadlineInMs === undefined ? undefined : Math.max(1, deadlineInMs),
    ...givenFactsOf(outline),
    ...present({ prefer: prefers && attributesByName(prefers) }),
    ...(isSlowed && slowdown !== undefined ? { slowdown } : {}),
    estimateMs: workMs / Math.max(1, tasks),
    stages,
  };
}
