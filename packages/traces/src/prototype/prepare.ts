import { Random } from '@goshawk/core';
import { WorkloadError } from '../errors.js';
import { type Jobs, sum, type TraceJob, type TraceStage } from '../job.js';
import { type Distribution, distributionOf } from '../percentiles.js';
import { sampleJobs } from '../sample/jobs.js';
import { drawArrivals } from './arrivals.js';
import { fifoMakespan } from './makespan.js';
import { scaleToCluster } from './scale.js';

export interface PrototypeOptions {
  readonly workers: number;
  /** Slots of each worker, 1 unless given. */
  readonly slots?: number | undefined;
  /** Size of the sample; the whole workload unless given. */
  readonly jobs?: number | undefined;
  /** Divides all durations. */
  readonly scale?: number | undefined;
  /** Instead of `scale`: the divisor for which the whole run takes about this long (`estimatedRunMs`). */
  readonly forSeconds?: number | undefined;
  /** Instead of `scale`: the divisor for which jobs are submitted over so long; the run takes longer. */
  readonly spanSeconds?: number | undefined;
  /** Task time submitted over slot time while jobs arrive, 0.9 unless given. */
  readonly load?: number | undefined;
  /** Draws the sample, the order of scaled tasks and the arrivals; 1 unless given. */
  readonly seed?: number | undefined;
}

/** A job to be replayed: milliseconds, submissions counted from the first instant of the replay. */
export interface ReplayJob {
  readonly submitMs: number;
  readonly durationsMs: readonly number[];
  /** What an exact estimator would say of the job as replayed: mean task duration. */
  readonly meanMs: number;
  readonly name?: string;
  readonly user?: string;
  readonly logicalName?: string;
  /** Of a job of several stages; each holds the `tasks` durations that follow those of the one before. */
  readonly stages?: readonly TraceStage[];
  /** Mean task duration as the submitter of the traced job believed it, as replayed. */
  readonly estimateMs?: number;
  /** What the job was in the trace. */
  readonly original: { readonly tasks: number; readonly meanSeconds: number };
}

export interface PreparedPrototype {
  /** In order of submission. */
  readonly jobs: readonly ReplayJob[];
  /** Jobs in the workload that the sample was drawn from. */
  readonly workloadJobs: number;
  readonly tasks: number;
  /** Sum of all durations as replayed. */
  readonly taskMs: number;
  /** Factor for each job's number of tasks: 1 when the workload fits the cluster as it is. */
  readonly taskFactor: number;
  /** Every duration was divided by this (after `taskFactor` had lengthened it). */
  readonly divisor: number;
  /** Time over which jobs are submitted. */
  readonly spanMs: number;
  /** When one ideal FIFO queue over all slots would have run everything. */
  readonly estimatedRunMs: number;
  readonly meanInterarrivalMs: number;
  readonly offeredLoad: number;
  /** Jobs' mean task durations as replayed; its p90 is what `--cutoff p90` takes. */
  readonly jobMeanMs: Distribution;
  /** The same in the trace, for the same jobs, in seconds. */
  readonly originalJobMeanSeconds: Distribution;
  /** Durations as replayed. */
  readonly taskDurationMs: Distribution;
}

/**
 * Fits a workload to a small cluster as Hawk does for its prototype (§4.1, "prototype", and §4.10):
 *
 * 1. takes a sample of the jobs, without replacement, in order of submission;
 * 2. scales the number of tasks of each job by (slots ÷ tasks of the largest job) where that job
 *    outgrows the cluster; what remains is lengthened so that each job keeps its task seconds and the
 *    spread of its durations (a job of few tasks keeps one);
 * 3. draws Poisson arrivals with mean gap (task seconds ÷ jobs) ÷ (slots × load);
 * 4. divides all times by `scale`; or so that submissions take `spanSeconds`, which is the divisor
 *    task seconds ÷ (spanSeconds × slots × load); or so that the whole run takes about `forSeconds`,
 *    the default with 60 s. The last two differ: Google's longest tasks, longer still when tasks are
 *    few, go on for some time after the last submission.
 *
 * Deterministic: the same jobs and options give the same result.
 *
 * @throws WorkloadError when there is no job, no work in them, or an option is not a number above zero
 */
export async function preparePrototype(jobs: Jobs, options: PrototypeOptions): Promise<PreparedPrototype> {
  checkOptions(options);
  const random = Random.seeded(options.seed ?? 1).fork('prototype');
  const { sample, total } = await sampleJobs(jobs, options.jobs ?? Infinity, random.fork('sample'));
  return prepareSample(sample, total, options, random);
}

/** `preparePrototype` for all of the given jobs, without a sample, at once. */
export function prepareJobs(jobs: readonly TraceJob[], options: PrototypeOptions): PreparedPrototype {
  checkOptions(options);
  return prepareSample(jobs, jobs.length, options, Random.seeded(options.seed ?? 1).fork('prototype'));
}

function prepareSample(
  sample: readonly TraceJob[],
  workloadJobs: number,
  options: PrototypeOptions,
  random: Random,
): PreparedPrototype {
  const { workers, slots = 1, load = 0.9, forSeconds = 60 } = options;
  const clusterSlots = workers * slots;
  const taskSeconds = taskSecondsOf(sample);
  if (!(taskSeconds > 0)) {
    throw new WorkloadError(
      sample.length === 0 ? 'the workload has no jobs' : 'all tasks of the workload take 0 s',
      'there is nothing to replay: name another workload',
    );
  }
  const scaled = scaleToCluster(sample, clusterSlots, random.fork('tasks'));
  const spanSeconds = taskSeconds / (clusterSlots * load);
  const arriving = drawArrivals(scaled.jobs, spanSeconds, random.fork('arrivals'));
  const runSeconds = fifoMakespan(arriving, clusterSlots);
  const divisor =
    options.scale ?? (options.spanSeconds ? spanSeconds / options.spanSeconds : runSeconds / forSeconds);
  const jobs = arriving.map((job, i) => replayJob(job, sample[i]!, divisor));
  return {
    jobs,
    workloadJobs,
    tasks: jobs.reduce((tasks, job) => tasks + job.durationsMs.length, 0),
    taskMs: (taskSeconds * 1000) / divisor,
    taskFactor: scaled.taskFactor,
    divisor,
    spanMs: (spanSeconds * 1000) / divisor,
    estimatedRunMs: (runSeconds * 1000) / divisor,
    meanInterarrivalMs: (spanSeconds * 1000) / divisor / jobs.length,
    offeredLoad: load,
    jobMeanMs: distributionOf(Float64Array.from(jobs, (job) => job.meanMs))!,
    originalJobMeanSeconds: distributionOf(Float64Array.from(sample, (job) => job.meanSeconds))!,
    taskDurationMs: distributionOf(Float64Array.from(jobs.flatMap((job) => job.durationsMs)))!,
  };
}

function replayJob(job: TraceJob, original: TraceJob, divisor: number): ReplayJob {
  const { name, user, logicalName, stages, estimateSeconds } = job;
  const milliseconds = (seconds: number) => (seconds * 1000) / divisor;
  return {
    submitMs: milliseconds(job.submitSeconds),
    durationsMs: Array.from(job.durationsSeconds, milliseconds),
    meanMs: milliseconds(job.meanSeconds),
    ...(name === undefined ? {} : { name }),
    ...(user === undefined ? {} : { user }),
    ...(logicalName === undefined ? {} : { logicalName }),
    ...(stages === undefined ? {} : { stages }),
    ...(estimateSeconds === undefined ? {} : { estimateMs: milliseconds(estimateSeconds) }),
    original: { tasks: original.durationsSeconds.length, meanSeconds: original.meanSeconds },
  };
}

function taskSecondsOf(jobs: readonly TraceJob[]): number {
  return jobs.reduce((total, job) => total + sum(job.durationsSeconds), 0);
}

function checkOptions(options: PrototypeOptions): void {
  const { scale, forSeconds, spanSeconds, load } = options;
  for (const [name, value] of Object.entries({
    workers: options.workers,
    slots: options.slots,
    jobs: options.jobs,
  })) {
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= 1)) {
      throw new WorkloadError(`${name} is ${value}`, 'give a whole number, one or more');
    }
  }
  for (const [name, value] of Object.entries({ scale, forSeconds, spanSeconds, load })) {
    if (value !== undefined && !(value > 0 && value < Infinity)) {
      throw new WorkloadError(`${name} is ${value}`, 'give a number above zero');
    }
  }
  if ([scale, forSeconds, spanSeconds].filter((value) => value !== undefined).length > 1) {
    throw new WorkloadError('both a scale and a run time are given', 'one decides the other: give one');
  }
}
