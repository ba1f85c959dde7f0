import { present, Random, sumOf } from '@goshawk/core';
import { exponential, shuffle } from './draws.js';
import { checkCounts, WorkloadError } from './errors.js';
import { fewerTasks } from './fewer-tasks.js';
import { type Jobs, type TraceJob, withStageEstimates } from './job.js';
import { sampleJobs } from './sample.js';

interface PrototypeOptions {
  readonly workers: number;
  /** Slots of each worker; default: 1. */
  readonly slots?: number | undefined;
  /** Size of the sample; default: the whole workload. */
  readonly jobs?: number | undefined;
  /** Divides all durations. */
  readonly scale?: number | undefined;
  /** Instead of `scale`: chooses the divisor so that the whole run takes about this long (`estimatedRunMs`). */
  readonly forSeconds?: number | undefined;
  /** Submitted task time ÷ available slot time, while jobs arrive; default: 0.9. */
  readonly load?: number | undefined;
  /** Seed of the sample, the order of scaled tasks and the arrivals; default: 1. */
  readonly seed?: number | undefined;
}

export interface PreparedPrototype {
  /** Jobs in order of submission. Times are scaled; submission times count from the start of the replay. */
  readonly jobs: readonly TraceJob[];
  /** Number of jobs in the original workload. */
  readonly workloadJobs: number;
  /** Factor for each job's number of tasks: 1 if the workload fits the cluster. */
  readonly taskFactor: number;
  /** Divisor of all durations (after `taskFactor` has lengthened them). */
  readonly divisor: number;
  /** Time over which jobs are submitted. */
  readonly spanMs: number;
  /** Time at which one ideal FIFO queue for all slots would have completed all tasks. */
  readonly estimatedRunMs: number;
  /** Longest task as replayed. */
  readonly longestTaskMs: number;
}

/**
 * Fits a workload to a small cluster as Hawk does for its prototype (§4.1, "prototype", and §4.10). It is
 * deterministic.
 *
 * - Takes a sample of the jobs, without replacement, in order of submission.
 * - If the largest job has more tasks than the cluster has slots, multiplies each job's number of tasks by
 *   (slots ÷ tasks of the largest job), and lengthens the tasks. Each job keeps at least one task, its task
 *   seconds, and the spread of its durations.
 * - Draws Poisson arrivals with mean gap (task seconds ÷ jobs) ÷ (slots × load).
 * - Divides all times by `scale`, or so that the run takes about `forSeconds` (default: 60 s). This includes
 *   the time after the last submission, which is long because of Google's longest tasks.
 *
 * @throws WorkloadError if there are no jobs or no work, if an option is not a number above zero, or if both
 *   `scale` and `forSeconds` are set
 */
export async function preparePrototype(jobs: Jobs, options: PrototypeOptions): Promise<PreparedPrototype> {
  checkOptions(options);
  const random = Random.seeded(options.seed ?? 1).fork('prototype');
  const { sample, total } = await sampleJobs(jobs, options.jobs ?? Infinity, random.fork('sample'));
  return prepareSample(sample, total, options, random);
}

/** Fits all of the given jobs synchronously, like `preparePrototype` without sampling. */
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
      'use another workload',
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
    taskFactor: scaled.taskFactor,
    divisor,
    spanMs: (spanSeconds * 1000) / divisor,
    estimatedRunMs: (runSeconds * 1000) / divisor,
    longestTaskMs: longestTaskSeconds(jobs) * 1000,
  };
}

/** These times of a job scale with the run time of tasks. */
const TASK_TIMES = [
  'meanSeconds',
  'estimateSeconds',
  'deadlineSeconds',
  'timeoutSeconds',
  'timeLimitSeconds',
] as const;
/** These times of a job do not scale. */
const OTHER_TIMES = ['submitSeconds', 'retryBackoffSeconds'] as const;

type TimeName = (typeof TASK_TIMES)[number] | (typeof OTHER_TIMES)[number];

function changed(
  job: TraceJob,
  names: readonly TimeName[],
  change: (seconds: number) => number,
): Partial<Record<TimeName, number>> {
  const times: Partial<Record<TimeName, number>> = {};
  for (const name of names) if (job[name] !== undefined) times[name] = change(job[name]);
  return times;
}

function divideTimes(job: TraceJob, divisor: number): TraceJob {
  const divided = (seconds: number) => seconds / divisor;
  const times = changed(job, [...OTHER_TIMES, ...TASK_TIMES], divided);
  const stagesMs = job.stages?.map(({ estimateSeconds = 0 }) => (estimateSeconds * 1_000) / divisor);
  return withStageEstimates(
    { ...job, ...times, durationsSeconds: job.durationsSeconds.map(divided) },
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
      throw new WorkloadError(`${name} is ${value}`, 'use a number above 0');
    }
  }
  if (scale !== undefined && forSeconds !== undefined) {
    throw new WorkloadError('`scale` and `forSeconds` cannot be used together', 'use one of them');
  }
}

/**
 * Returns the factor for each job's number of tasks that limits the largest job to the number of slots (Hawk
 * §4.1, prototype); 1 if it fits already.
 */
function taskFactor(jobs: readonly TraceJob[], slots: number): number {
  let largest = 1;
  for (const job of jobs) largest = Math.max(largest, job.durationsSeconds.length);
  return Math.min(1, slots / largest);
}

/**
 * Returns a job with `factor` times the tasks (rounded, at least one per stage) and the same task seconds.
 * The durations are the medians of equal slices of the sorted durations, which preserves the spread. They are
 * scaled to keep the sum, and shuffled.
 *
 * @param factor in (0, 1]
 */
export function scaleTasks(job: TraceJob, factor: number, random: Random): TraceJob {
  const { durationsSeconds: before, stages, maxRunning } = job;
  const tasks = Math.max(stages?.length ?? 1, Math.round(before.length * factor));
  if (tasks === before.length) return job;
  const stretch = before.length / tasks;
  const scaled = fewerTasks(job, tasks, (own, count) => fewer(own, count, random));
  return {
    ...job,
    // Scales the times that the file states, because they may differ from the durations.
    ...changed(job, TASK_TIMES, (seconds) => seconds * stretch),
    // The limit is reduced like the number of tasks.
    ...(maxRunning === undefined ? {} : { maxRunning: Math.max(1, Math.round(maxRunning / stretch)) }),
    ...scaled,
    ...present({
      stages: scaled.stages?.map((stage, place) => {
        const { estimateSeconds } = stage;
        if (estimateSeconds === undefined) return stage;
        return { ...stage, estimateSeconds: (estimateSeconds * stages![place]!.tasks) / stage.tasks };
      }),
    }),
  };
}

function fewer(before: Float64Array, tasks: number, random: Random): Float64Array {
  const sorted = before.toSorted();
  const kept = new Float64Array(tasks);
  for (let i = 0; i < tasks; i++) kept[i] = sorted[Math.floor(((i + 0.5) * before.length) / tasks)]!;
  const taskSeconds = sumOf(before);
  const keptSeconds = sumOf(kept);
  for (let i = 0; i < tasks; i++) {
    kept[i] = keptSeconds > 0 ? kept[i]! * (taskSeconds / keptSeconds) : taskSeconds / tasks;
  }
  return shuffle(random, kept);
}

/** Applies `scaleTasks` to all jobs of a workload, by the factor that fits its largest job to the slots. */
export function scaleToCluster(
  jobs: readonly TraceJob[],
  slots: number,
  random: Random,
): { jobs: TraceJob[]; taskFactor: number } {
  const factor = taskFactor(jobs, slots);
  return { jobs: jobs.map((job) => scaleTasks(job, factor, random)), taskFactor: factor };
}

/**
 * Returns the jobs with new submission times: a Poisson process, conditioned on all jobs arriving within
 * `spanSeconds`. The gaps are exponential draws, scaled to that span, so the load over it is exact.
 */
export function drawArrivals(jobs: readonly TraceJob[], spanSeconds: number, random: Random): TraceJob[] {
  const ends: number[] = [];
  let total = 0;
  for (let i = 0; i < jobs.length; i++) {
    total += exponential(random, 1);
    ends.push(total);
  }
  total += exponential(random, 1);
  return jobs.map((job, i) => ({ ...job, submitSeconds: (ends[i]! / total) * spanSeconds }));
}

/**
 * Returns when the last task ends, in seconds from time 0, if one ideal FIFO queue feeds all slots: each task
 * in order of submission takes the first free slot. This is nearly a lower bound of a run's duration; at high
 * load, or with very long tasks, it is far beyond the last submission.
 *
 * @param jobs in order of submission
 */
export function fifoMakespan(jobs: readonly TraceJob[], slots: number): number {
  // A binary heap of the times at which the slots become free, earliest first.
  const freeAt = new Float64Array(slots);
  let end = 0;
  for (const { submitSeconds, durationsSeconds } of jobs) {
    for (let task = 0; task < durationsSeconds.length; task++) {
      const taskEnd = Math.max(freeAt[0]!, submitSeconds) + durationsSeconds[task]!;
      replaceLeast(freeAt, taskEnd);
      if (taskEnd > end) end = taskEnd;
    }
  }
  return end;
}

function replaceLeast(heap: Float64Array, value: number): void {
  let at = 0;
  for (let child = 1; child < heap.length; child = 2 * at + 1) {
    if (child + 1 < heap.length && heap[child + 1]! < heap[child]!) child++;
    if (heap[child]! >= value) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = value;
}
