import { nearestRank, Samples, type SixNumbers, sixNumbersOf, sumOf } from '@goshawk/core';
import { cpuSecondsOf } from '../cpu-time.js';
import { WorkloadError } from '../errors.js';
import type { Jobs, TraceJob } from '../job.js';

const TRACE_STATS_SCHEMA = 'goshawk.trace-stats/1';
const HEAVIEST_USERS = 10;
/** The load is computed for these clusters by default: the sizes of Hawk's Figure 5. */
const DEFAULT_WORKERS: readonly number[] = [10_000, 15_000, 20_000, 25_000, 30_000, 40_000, 50_000];

/**
 * Statistics of a workload, as printed by `trace stats --json`. Times are in seconds, shares are fractions of
 * 1. An undefined value (no job of two tasks, no time between submissions, no users in the trace) is null.
 */
export interface TraceStats {
  readonly schema: typeof TRACE_STATS_SCHEMA;
  readonly jobs: number;
  readonly tasks: number;
  /** Sum of all task durations. */
  readonly taskSeconds: number;
  readonly firstSubmitSeconds: number;
  /** Time from the first submission to the last. */
  readonly spanSeconds: number;
  readonly arrivals: {
    readonly jobsPerSecond: number | null;
    readonly meanInterarrivalSeconds: number | null;
    /** Standard deviation over mean of the times between submissions: 1 for a Poisson process. */
    readonly interarrivalSpread: number | null;
  };
  /** Submitted work per second, which is the number of slots that it would keep busy forever. */
  readonly taskSecondsPerSecond: number | null;
  /** CPU time offered to clusters of these numbers of workers with one CPU; 1 is their capacity. */
  readonly offeredLoad: readonly { readonly workers: number; readonly load: number }[];
  readonly tasksPerJob: SixNumbers;
  /** Distribution over all tasks. */
  readonly taskDurationSeconds: SixNumbers;
  /** Distribution over jobs, as an exact estimator would report them. Its p90 is the default cutoff. */
  readonly jobMeanDurationSeconds: SixNumbers;
  readonly jobTaskSeconds: SixNumbers;
  /** Standard deviation over mean of the durations within a job, over jobs of two tasks or more. */
  readonly spreadWithinJobs: SixNumbers | null;
  readonly longestTenth: LongestTenth;
  /** Short and long jobs, if a cutoff was given. */
  readonly classes?: Readonly<Record<JobLength, ClassStats>> & { readonly cutoffSeconds: number };
  /** Users by task seconds, for traces that name users. */
  readonly users: {
    readonly count: number;
    readonly heaviest: readonly {
      readonly user: string;
      readonly jobs: number;
      readonly tasks: number;
      readonly taskSeconds: number;
      readonly taskSecondsShare: number;
    }[];
  } | null;
  /** Distributions for plots, if requested. */
  readonly cdfs?: {
    readonly tasksPerJob: Cdf;
    readonly taskDurationSeconds: Cdf;
    readonly jobMeanDurationSeconds: Cdf;
  };
}

/** The minimum, then the percentiles 1, 2, … 100 by nearest rank. */
export type Cdf = readonly number[];

type JobLength = 'short' | 'long';

/** Jobs of one class (Hawk, Tables 1 and 2, Figure 4). Without jobs, distributions are null. */
interface ClassStats {
  readonly jobs: number;
  readonly jobsShare: number;
  readonly tasksShare: number;
  readonly taskSecondsShare: number;
  readonly tasksPerJob: SixNumbers | null;
  readonly taskDurationSeconds: SixNumbers | null;
}

/** The tenth of the jobs (rounded down, at least one) with the longest mean task duration (Hawk §2.3). */
interface LongestTenth {
  readonly jobs: number;
  /** The minimum of their mean task durations. */
  readonly cutoffSeconds: number;
  readonly taskSecondsShare: number;
  readonly tasksShare: number;
  /** Their mean task duration ÷ that of the other jobs. Null if there are no other jobs, or they take no time. */
  readonly durationRatioByTask: number | null;
  /** The same ratio of the means of the jobs' mean durations. */
  readonly durationRatioByJob: number | null;
}

/**
 * Computes statistics of jobs in any order, in one pass. Memory: 8 bytes per task and about 40 per job.
 * @param options.workers cluster sizes for `offeredLoad`
 * @param options.cdfs whether to compute `cdfs`
 * @param options.cutoffSeconds mean task duration at which a job is long, for `classes`
 * @throws WorkloadError if there are no jobs; errors of the jobs' iterator
 */
export async function traceStats(
  jobs: Jobs,
  options: {
    readonly workers?: readonly number[];
    readonly cdfs?: boolean;
    readonly cutoffSeconds?: number | undefined;
  } = {},
): Promise<TraceStats> {
  const columns = new Columns(options.cutoffSeconds);
  for await (const job of jobs) columns.add(job);
  if (columns.means.length === 0) {
    throw new WorkloadError('the workload has no jobs', 'use a workload with at least one job');
  }
  return columns.summarise(options.workers ?? DEFAULT_WORKERS, options.cdfs ?? false);
}

class Columns {
  readonly submits = new Samples();
  readonly tasks = new Samples();
  readonly means = new Samples();
  readonly taskSeconds = new Samples();
  readonly durations = new Samples();
  readonly spreads = new Samples();
  cpuSeconds = 0;
  readonly #cutoffSeconds: number | undefined;
  /** Columns of short and long jobs, if there is a cutoff. */
  readonly classes: Readonly<Record<JobLength, ClassColumns>> = { short: newClass(), long: newClass() };
  readonly users = new Map<string, { jobs: number; tasks: number; taskSeconds: number }>();

  constructor(cutoffSeconds: number | undefined) {
    this.#cutoffSeconds = cutoffSeconds;
  }

  add(job: TraceJob): void {
    const { durationsSeconds } = job;
    const taskSeconds = sumOf(durationsSeconds);
    this.submits.push(job.submitSeconds);
    this.tasks.push(durationsSeconds.length);
    this.means.push(job.meanSeconds);
    this.taskSeconds.push(taskSeconds);
    this.cpuSeconds += cpuSecondsOf(job);
    for (let i = 0; i < durationsSeconds.length; i++) this.durations.push(durationsSeconds[i]!);
    if (durationsSeconds.length > 1) this.spreads.push(spread(durationsSeconds));
    if (this.#cutoffSeconds !== undefined) {
      const own = this.classes[job.meanSeconds >= this.#cutoffSeconds ? 'long' : 'short'];
      own.tasks.push(durationsSeconds.length);
      own.taskSeconds += taskSeconds;
      for (let i = 0; i < durationsSeconds.length; i++) own.durations.push(durationsSeconds[i]!);
    }
    if (job.user === undefined) return;
    const user = this.users.get(job.user) ?? { jobs: 0, tasks: 0, taskSeconds: 0 };
    user.jobs++;
    user.tasks += durationsSeconds.length;
    user.taskSeconds += taskSeconds;
    this.users.set(job.user, user);
  }

  summarise(workers: readonly number[], withCdfs: boolean): TraceStats {
    const tasks = this.tasks.values();
    const means = this.means.values();
    const durations = this.durations.values();
    const taskSecondsOfJobs = this.taskSeconds.values();
    const taskSeconds = sumOf(taskSecondsOfJobs);
    // This must precede the sorting of the columns for their percentiles.
    const longest = longestTenth(means, tasks, taskSecondsOfJobs);
    const submits = this.submits.sorted();
    const spanSeconds = submits[submits.length - 1]! - submits[0]!;
    const perSecond = spanSeconds > 0 ? taskSeconds / spanSeconds : null;
    const busyCpus = this.cpuSeconds / spanSeconds;
    return {
      schema: TRACE_STATS_SCHEMA,
      jobs: means.length,
      tasks: durations.length,
      taskSeconds,
      firstSubmitSeconds: submits[0]!,
      spanSeconds,
      arrivals: arrivalsOf(submits, spanSeconds),
      taskSecondsPerSecond: perSecond,
      offeredLoad: perSecond === null ? [] : workers.map((n) => ({ workers: n, load: busyCpus / n })),
      tasksPerJob: sixNumbersOf(this.tasks.sorted())!,
      taskDurationSeconds: sixNumbersOf(this.durations.sorted())!,
      jobMeanDurationSeconds: sixNumbersOf(this.means.sorted())!,
      jobTaskSeconds: sixNumbersOf(this.taskSeconds.sorted())!,
      spreadWithinJobs: sixNumbersOf(this.spreads.sorted()) ?? null,
      longestTenth: longest,
      ...this.#classesOf({ jobs: means.length, tasks: durations.length, taskSeconds }),
      users: this.#usersOf(taskSeconds),
      // The columns are sorted by now.
      ...(withCdfs
        ? {
            cdfs: {
              tasksPerJob: cdfOf(tasks),
              taskDurationSeconds: cdfOf(durations),
              jobMeanDurationSeconds: cdfOf(means),
            },
          }
        : {}),
    };
  }

  #classesOf(all: Record<'jobs' | 'tasks' | 'taskSeconds', number>): Pick<TraceStats, 'classes'> {
    const cutoffSeconds = this.#cutoffSeconds;
    if (cutoffSeconds === undefined) return {};
    const classOf = ({ tasks, durations, taskSeconds }: ClassColumns): ClassStats => ({
      jobs: tasks.length,
      jobsShare: share(tasks.length, all.jobs),
      tasksShare: share(durations.length, all.tasks),
      taskSecondsShare: share(taskSeconds, all.taskSeconds),
      tasksPerJob: sixNumbersOf(tasks.sorted()) ?? null,
      taskDurationSeconds: sixNumbersOf(durations.sorted()) ?? null,
    });
    const { short, long } = this.classes;
    return { classes: { cutoffSeconds, short: classOf(short), long: classOf(long) } };
  }

  #usersOf(taskSeconds: number): TraceStats['users'] {
    if (this.users.size === 0) return null;
    const heaviest = [...this.users]
      .map(([user, total]) => ({ user, ...total, taskSecondsShare: share(total.taskSeconds, taskSeconds) }))
      .sort((a, b) => b.taskSeconds - a.taskSeconds || (a.user < b.user ? -1 : 1))
      .slice(0, HEAVIEST_USERS);
    return { count: this.users.size, heaviest };
  }
}

interface ClassColumns {
  readonly tasks: Samples;
  readonly durations: Samples;
  taskSeconds: number;
}

function newClass(): ClassColumns {
  return { tasks: new Samples(), durations: new Samples(), taskSeconds: 0 };
}

function cdfOf(sorted: Float64Array): Cdf {
  return Array.from({ length: 101 }, (_, percent) =>
    percent === 0 ? sorted[0]! : nearestRank(sorted, percent),
  );
}

function arrivalsOf(sortedSubmits: Float64Array, spanSeconds: number): TraceStats['arrivals'] {
  const gaps = sortedSubmits.length - 1;
  if (!(spanSeconds > 0)) {
    return { jobsPerSecond: null, meanInterarrivalSeconds: null, interarrivalSpread: null };
  }
  const mean = spanSeconds / gaps;
  let squares = 0;
  for (let i = 1; i <= gaps; i++) squares += (sortedSubmits[i]! - sortedSubmits[i - 1]! - mean) ** 2;
  return {
    jobsPerSecond: sortedSubmits.length / spanSeconds,
    meanInterarrivalSeconds: mean,
    interarrivalSpread: Math.sqrt(squares / gaps) / mean,
  };
}

function longestTenth(means: Float64Array, tasks: Float64Array, taskSeconds: Float64Array): LongestTenth {
  const order = Uint32Array.from(means, (_, i) => i).sort((a, b) => means[b]! - means[a]! || a - b);
  const jobs = Math.max(1, Math.floor(means.length / 10));
  const inside = { means: 0, tasks: 0, taskSeconds: 0 };
  const outside = { means: 0, tasks: 0, taskSeconds: 0 };
  order.forEach((job, rank) => {
    const side = rank < jobs ? inside : outside;
    side.means += means[job]!;
    side.tasks += tasks[job]!;
    side.taskSeconds += taskSeconds[job]!;
  });
  const others = means.length - jobs;
  return {
    jobs,
    cutoffSeconds: means[order[jobs - 1]!]!,
    taskSecondsShare: share(inside.taskSeconds, inside.taskSeconds + outside.taskSeconds),
    tasksShare: share(inside.tasks, inside.tasks + outside.tasks),
    durationRatioByTask: ratio(inside.taskSeconds / inside.tasks, outside.taskSeconds / outside.tasks),
    durationRatioByJob: ratio(inside.means / jobs, outside.means / others),
  };
}

function share(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0;
}

function ratio(above: number, below: number): number | null {
  return below > 0 ? above / below : null;
}

/** Returns the population standard deviation over the mean; 0 if all durations are 0. */
function spread(durations: Float64Array): number {
  const mean = sumOf(durations) / durations.length;
  if (mean === 0) return 0;
  let squares = 0;
  for (let i = 0; i < durations.length; i++) squares += (durations[i]! - mean) ** 2;
  return Math.sqrt(squares / durations.length) / mean;
}
