import { Random, sumOf } from '@goshawk/core';
import { checkCounts, WorkloadError } from '../errors.js';
import { type Jobs, type TraceJob, withStageEstimates } from '../job.js';
import { sampleJobs } from '../sample/jobs.js';
import { drawArrivals } from './arrivals.js';
import { fifoMakespan } from './makespan.js';
import { scaleToCluster } from './scale.js';

interface PrototypeOptions {
  readonly workers: number;
  /** Slots of each worker, 1 unless given. */
  readonly slots?: number | undefined;
  /** Size of the sample; the whole workload unless given. */
  readonly jobs?: number | undefined;
  /** Divides all durations. */
  readonly scale?: number | undefined;
  /** Instead of `scale`: the divisor for which the whole run takes about this long (`estimatedRunMs`). */
  readonly forSeconds?: number | undefined;
  /** Task time submitted over slot time while jobs arrive, 0.9 unless given. */
  readonly load?: number | undefined;
  /** Draws the sample, the order of scaled tasks and the arrivals; 1 unless given. */
  readonly seed?: number | undefined;
}

export interface PreparedPrototype {
  /** In order of submission, which is counted from the first instant of the replay. All times as replayed. */
  readonly jobs: readonly TraceJob[];
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
  /** As replayed. */
  readonly longestTaskMs: number;
}

/**
 * Fits a workload to a small cluster as Hawk does for its prototype (§4.1, "prototype", and §4.10):
 *
 * 1. takes a sample of the jobs, without replacement, in order of submission;
 * 2. scales the number of tasks of each job by (slots ÷ tasks of the largest job) where that job
 *    outgrows the cluster; what remains is lengthened so that each job keeps its task seconds and the
 *    spread of its durations (a job of few tasks keeps one);
 * 3. draws Poisson arrivals with mean gap (task seconds ÷ jobs) ÷ (slots × load);
 * 4. divides all times by `scale`; or so that the whole run takes about `forSeconds`, the default with
 *    60 s: Google's longest tasks, longer still when tasks are few, go on for some time after the last
 *    submission.
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
  const divisor = options.scale ?? runSeconds / forSeconds;
  const jobs = arriving.map((job) => divideTimes(job, divisor));
  return {
    jobs,
    workloadJobs,
    tasks: sumOf(jobs, (job) => job.durationsSeconds.length),
    taskMs: (taskSeconds * 1000) / divisor,
    taskFactor: scaled.taskFactor,
    divisor,
    spanMs: (spanSeconds * 1000) / divisor,
    estimatedRunMs: (runSeconds * 1000) / divisor,
    longestTaskMs: longestTaskSeconds(jobs) * 1000,
  };
}

/** Whatever of a job is a time. */
const TIMES = [
  'submitSeconds',
  'meanSeconds',
  'estimateSeconds',
  'deadlineSeconds',
  'retryBackoffSeconds',
  'timeoutSeconds',
  'timeLimitSeconds',
] as const;

function divideTimes(job: TraceJob, divisor: number): TraceJob {
  const times: Partial<Record<(typeof TIMES)[number], number>> = {};
  for (const name of TIMES) if (job[name] !== undefined) times[name] = job[name] / divisor;
  const stagesMs = job.stages?.map(({ estimateSeconds = 0 }) => (estimateSeconds * 1_000) / divisor);
  return withStageEstimates(
    { ...job, ...times, durationsSeconds: job.durationsSeconds.map((seconds) => seconds / divisor) },
    stagesMs,
  );
}

function longestTaskSeconds(jobs: readonly TraceJob[]): number {
  let longest = 0;
  for (const { durationsSeconds } of jobs)
    for (const seconds of durationsSeconds) longest = Math.max(longest, seconds);
  return longest;
}

function taskSecondsOf(jobs: readonly TraceJob[]): number {
  return sumOf(jobs, (job) => sumOf(job.durationsSeconds));
}

function checkOptions(options: PrototypeOptions): void {
  const { workers, slots, jobs, scale, forSeconds, load } = options;
  checkCounts({ workers, slots, jobs });
  for (const [name, value] of Object.entries({ scale, forSeconds, load })) {
    if (value !== undefined && !(value > 0 && value < Infinity)) {
      throw new WorkloadError(`${name} is ${value}`, 'give a number above zero');
    }
  }
  if (scale !== undefined && forSeconds !== undefined) {
    throw new WorkloadError('both a scale and a run time are given', 'one decides the other: give one');
  }
}
