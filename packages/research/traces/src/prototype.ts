import { present, Random, sumOf } from '@goshawk/core';
import { cpuSecondsOf, cpusOfStages } from './cpu-time.js';
import { exponential, shuffle } from './draws.js';
import { checkCounts, WorkloadError } from './errors.js';
import { fewerTasks } from './fewer-tasks.js';
import { type Jobs, type TraceJob, withStageEstimates } from './job.js';
import { sampleJobs } from './sample.js';

interface PrototypeOptions {
  readonly workers: number;
  /** CPUs of each worker; default: 1. */
  readonly slots?: number | undefined;
  /** Size of the sample; default: the whole workload. */
  readonly jobs?: number | undefined;
  /** Divides all durations. */
  readonly scale?: number | undefined;
  /** Instead of `scale`: chooses the divisor so that the whole run takes about this long (`estimatedRunMs`). */
  readonly forSeconds?: number | undefined;
  /** Submitted CPU time ÷ available CPU time, while jobs arrive; default: 0.9. */
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
  /** Time at which one ideal FIFO queue for all CPUs would have completed all tasks. */
  readonly estimatedRunMs: number;
  /** Longest task as replayed. */
  readonly longestTaskMs: number;
}

/**
 * Fits a workload to a small cluster as Hawk does for its prototype (§4.1, "prototype", and §4.10). It is
 * deterministic.
 *
 * - Takes a sample of the jobs, without replacement, in order of submission.
 * - If the tasks of the largest job need more CPUs than the cluster has, multiplies each job's number of tasks by
 *   (CPUs of the cluster ÷ CPUs of the largest job), and lengthens the tasks. Each job keeps at least one task, its
 *   task seconds, and the spread of its durations.
 * - Draws Poisson arrivals with mean gap (CPU seconds ÷ jobs) ÷ (CPUs × load). A task without a demand takes one CPU.
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
  const cpus = workers * slots;
  const cpuSeconds = sumOf(sample, cpuSecondsOf);
  if (!(cpuSeconds > 0)) throw noWork(sample);
  const scaled = scaleToCluster(sample, cpus, random.fork('tasks'));
  const spanSeconds = cpuSeconds / (cpus * load);
  const arriving = drawArrivals(scaled.jobs, spanSeconds, random.fork('arrivals'));
  const runSeconds = fifoMakespan(arriving, cpus);
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

function noWork(jobs: readonly TraceJob[]): WorkloadError {
  if (jobs.length === 0) return new WorkloadError('the workload has no jobs', 'use another workload');
  const isIdle = jobs.every(({ durationsSeconds }) => durationsSeconds.every((seconds) => seconds === 0));
  return new WorkloadError(
    isIdle
      ? 'all tasks of the workload take 0 s'
      : 'no task of the workload needs a CPU, so it offers no load',
    'use another workload',
  );
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
 * Returns the factor for each job's number of tasks that limits the largest job to the CPUs of the cluster (Hawk
 * §4.1, prototype); 1 if it fits already.
 */
function taskFactor(jobs: readonly TraceJob[], cpus: number): number {
  let largest = 1;
  for (const job of jobs) {
    const needed = sumOf(cpusOfStages(job), ({ tasks, cpus: each }) => tasks * each);
    largest = Math.max(largest, needed);
  }
  return Math.min(1, cpus / largest);
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

/** Applies `scaleTasks` to all jobs of a workload, by the factor that fits its largest job to the CPUs. */
export function scaleToCluster(
  jobs: readonly TraceJob[],
  cpus: number,
  random: Random,
): { jobs: TraceJob[]; taskFactor: number } {
  const factor = taskFactor(jobs, cpus);
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
 * Returns when the last task ends, in seconds from time 0, if one ideal FIFO queue feeds all CPUs: each task in order
 * of submission starts once enough CPUs are free. This is nearly a lower bound of a run's duration; at high load, or
 * with very long tasks, it is far beyond the last submission.
 *
 * @param jobs in order of submission
 */
export function fifoMakespan(jobs: readonly TraceJob[], cpus: number): number {
  const ends = new Ends();
  let free = cpus;
  let now = 0;
  let last = 0;
  for (const job of jobs) {
    now = Math.max(now, job.submitSeconds);
    let task = 0;
    for (const { tasks, cpus: wanted } of cpusOfStages(job)) {
      const needed = Math.min(wanted, cpus);
      for (const end = task + tasks; task < end; task++) {
        while (ends.size > 0 && (ends.first <= now || free < needed - ROUNDING_CPUS)) {
          now = Math.max(now, ends.first);
          free += ends.pop();
        }
        free -= needed;
        const taskEnd = now + job.durationsSeconds[task]!;
        ends.push(taskEnd, needed);
        last = Math.max(last, taskEnd);
      }
    }
  }
  return last;
}

/** Rounding error of summed fractions of CPUs. */
const ROUNDING_CPUS = 1e-6;

/** A binary heap of the CPUs that become free, ordered by time. */
class Ends {
  readonly #times: number[] = [];
  readonly #cpus: number[] = [];

  get size(): number {
    return this.#times.length;
  }

  /** The earliest time. */
  get first(): number {
    return this.#times[0]!;
  }

  push(time: number, cpus: number): void {
    let at = this.size;
    for (let parent = (at - 1) >> 1; at > 0 && this.#times[parent]! > time; parent = (at - 1) >> 1) {
      this.#move(parent, at);
      at = parent;
    }
    this.#times[at] = time;
    this.#cpus[at] = cpus;
  }

  /** Removes the earliest and returns its CPUs. */
  pop(): number {
    const cpus = this.#cpus[0]!;
    const [time, last] = [this.#times.pop()!, this.#cpus.pop()!];
    const { size } = this;
    if (size === 0) return cpus;
    let at = 0;
    for (let child = 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && this.#times[child + 1]! < this.#times[child]!) child++;
      if (this.#times[child]! >= time) break;
      this.#move(child, at);
      at = child;
    }
    this.#times[at] = time;
    this.#cpus[at] = last;
    return cpus;
  }

  #move(from: number, to: number): void {
    this.#times[to] = this.#times[from]!;
    this.#cpus[to] = this.#cpus[from]!;
  }
}
