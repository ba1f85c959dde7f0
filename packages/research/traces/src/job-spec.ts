import {
  demandOf,
  givenFactsOf,
  type JobInput,
  type JobSpec,
  type Millis,
  present,
  type StageSpec,
  type TaskList,
} from '@goshawk/core';
import type { TraceJob } from './job.js';

/** Allocates a separate column of zeros of this length. */
type Columns = (length: number) => Float64Array;

const ownColumn: Columns = (length) => new Float64Array(length);

/**
 * Returns the job that a cluster runs for a job of a trace: each task sleeps as long as it ran. Live and
 * simulated clusters run the same job. Features that clusters lack are dropped: Google's scheduling class,
 * and shares of unknown machines.
 *
 * @param estimateMs mean run time given to the cluster; undefined: none
 * @param seed of the job's random draws
 * @param columns allocates columns for its tasks' times
 */
export function jobSpecOf(
  job: TraceJob,
  estimateMs: Millis | undefined,
  seed?: string,
  columns: Columns = ownColumn,
): JobSpec {
  return {
    name: job.name ?? 'job',
    user: job.user,
    ...present({ logicalName: job.logicalName, seed }),
    stages: stagesOf(job, columns),
    estimateMs,
    retries: job.retries ?? 0,
    ...(job.retryBackoffSeconds === undefined ? {} : { retryBackoffMs: job.retryBackoffSeconds * 1_000 }),
    timeoutMs: milliseconds(job.timeoutSeconds),
    ...(job.timeLimitSeconds === undefined ? {} : { timeLimitMs: job.timeLimitSeconds * 1_000 }),
    maxRunning: job.maxRunning,
    deadlineMs: milliseconds(job.deadlineSeconds),
    weight: job.weight ?? 1,
    ...present({ priority: job.priority, prefer: job.prefer, slowdown: job.slowdown }),
    ...givenFactsOf(job),
  };
}

function stagesOf(
  { durationsSeconds, stages, demand: ofJob, require, gang: isGang = false, lend: lends = true }: TraceJob,
  columns: Columns,
): JobSpec['stages'] {
  const sleepsMs = inMilliseconds(durationsSeconds, columns(durationsSeconds.length));
  if (stages === undefined) {
    return [
      {
        name: 'tasks',
        after: [],
        tasks: { sleepsMs },
        demand: demandOf(ofJob),
        ...requirements(require),
        ...(isGang ? { gang: true } : {}),
        ...(lends ? {} : { lend: false }),
      },
    ];
  }
  let first = 0;
  return stages.map(
    ({ name, after, tasks, demand, estimateSeconds, require: ofStage, gang = isGang, lend = lends }) => {
      const own = sleepsMs.subarray(first, first + tasks);
      first += tasks;
      return {
        name,
        after: [...new Set(after)],
        tasks: { sleepsMs: own },
        demand: demandOf(demand ?? ofJob),
        ...requirements(ofStage ?? require),
        ...(gang ? { gang: true } : {}),
        ...(lend ? {} : { lend: false }),
        ...(estimateSeconds === undefined ? {} : { estimateMs: estimateSeconds * 1_000 }),
      };
    },
  );
}

function requirements(require: TraceJob['require']): Pick<StageSpec, 'requires'> {
  return require === undefined || Object.keys(require).length === 0 ? {} : { requires: require };
}

/** Converts in a loop, because simulations do this for each task and `map` takes three times as long. */
function inMilliseconds(seconds: Float64Array, ms: Float64Array): Float64Array {
  for (let i = 0; i < seconds.length; i++) ms[i] = seconds[i]! * 1_000;
  return ms;
}

function milliseconds(seconds: number | undefined): Millis | undefined {
  return seconds === undefined ? undefined : seconds * 1_000;
}

/** Returns a job as a client submits it; `parseJobSpec` converts it back to the same job. */
export function jobInputOf(spec: JobSpec): JobInput {
  const {
    stages,
    user,
    maxRunning,
    estimateMs,
    timeoutMs,
    timeLimitMs,
    retryBackoffMs,
    retryOn,
    after,
    afterOk,
    deadlineMs,
    begin,
    ...rest
  } = spec;
  return {
    ...rest,
    stages: stages.map(({ name, after, tasks, demand, requires, estimateMs: ofStage, gang, lend }) => ({
      name,
      after: after.map((place) => stages[place]!.name),
      tasks: tasksInputOf(tasks),
      demand,
      ...present({ require: requires, estimate: ofStage, gang, lend }),
    })),
    ...present({ user, maxRunning, estimate: estimateMs, timeout: timeoutMs, retryBackoff: retryBackoffMs }),
    ...(retryOn === undefined ? {} : { retryOn: [...retryOn] }),
    ...(after === undefined ? {} : { after: [...after] }),
    ...(afterOk === undefined ? {} : { afterOk: [...afterOk] }),
    ...present({ timeLimit: timeLimitMs, deadline: deadlineMs }),
    ...(begin === undefined
      ? {}
      : { begin: 'at' in begin ? new Date(begin.at).toISOString() : begin.afterMs }),
  };
}

function tasksInputOf(tasks: TaskList): NonNullable<JobInput['tasks']> {
  if ('count' in tasks) return tasks;
  return 'each' in tasks ? [...tasks.each] : Array.from(tasks.sleepsMs, (sleep) => ({ sleep }));
}

/** Length of a block, 64 kB. */
const BLOCK_LENGTH = 8_192;

/**
 * Allocates many columns from one block of memory, which is freed with the last of them: allocating a block
 * for a small column takes longer than filling it.
 */
export function columnBlocks(): Columns {
  let block = new Float64Array();
  let taken = 0;
  return (length) => {
    if (length >= BLOCK_LENGTH) return new Float64Array(length);
    if (taken + length > block.length) {
      block = new Float64Array(BLOCK_LENGTH);
      taken = 0;
    }
    taken += length;
    return block.subarray(taken - length, taken);
  };
}
