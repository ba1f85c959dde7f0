import type { EstimatorScore } from '@goshawk/predictor';
import type { Distribution } from './distribution.js';

export const COMPARISON_SCHEMA = 'goshawk.comparison/1';

/** The class of a job by its true mean task run time and the cutoff, regardless of its estimate. */
export type JobClass = (typeof JOB_CLASSES)[number];
export const JOB_CLASSES = ['short', 'long'] as const;

export type OptionValue = string | number | boolean | null | readonly OptionValue[] | OptionValues;
/** Every setting that shaped a run, by the names of the command's flags. */
export interface OptionValues {
  readonly [name: string]: OptionValue;
}

export interface ByClass<T> {
  readonly short: T;
  readonly long: T;
}

export interface ByClassAndAll<T> extends ByClass<T> {
  readonly all: T;
}

export interface Workload {
  readonly name: string;
  readonly sha256: string;
  readonly jobs: number;
  readonly tasks: number;
  readonly taskSeconds: number;
  /** Time from the first submission to the last. */
  readonly spanSeconds: number;
  /** Omissions and changes while reading the file; absent if there were none. */
  readonly tallied?: readonly { readonly code: string; readonly what: string; readonly count: number }[];
}

export interface Cluster {
  readonly workers: number;
  /** Slots per worker; 0: no fixed number. */
  readonly slots: number;
  readonly schedulers: number;
  readonly mode: 'simulated' | 'live';
}

export interface UtilisationLevels {
  readonly mean: number | null;
  readonly p50: number | null;
  readonly max: number | null;
}

/**
 * The share of busy CPUs, from 0 to 1, weighted by time from the beginning of the run to the end of its last
 * task: `mean` is the work ÷ (slots × makespan), `p50` is not exceeded for half of the time, `max` is the
 * maximum. All are null if no time has passed or workers have no fixed number of slots.
 */
export interface Utilisation extends UtilisationLevels {
  /** Utilisation up to the last submission; a run ends with its last task, which may be days later. */
  readonly whileSubmitting: UtilisationLevels;
  /** Number of points of `series` before it is reduced. */
  readonly snapshots: number;
  /** Interval of snapshots in run time: durations divided by 1,000 shorten it by the same factor. */
  readonly intervalSeconds: number;
}

/**
 * Mean run time of a class in seconds per job, split along each job's last task, which determined its run
 * time. `queueing` lasts from submission until a slot was free for that task, or until its start if the
 * binding time is unknown; `running` is its run, and `reporting` the rest until the end was known. The parts
 * add up to the mean run time.
 */
export interface TimeParts {
  readonly queueing: number;
  /** The round trip between a free slot and its task, if known; otherwise it is part of the queueing. */
  readonly binding?: number;
  readonly running: number;
  readonly reporting?: number;
}

/**
 * The cluster over a run, in columns of equal length. A run has one point per snapshot, or at most 1,000
 * points, which are means since the previous point. Points are closer while jobs arrive and wait than while a
 * few last tasks run.
 */
export interface Series {
  /** Time of the last submission. All times are since the start. */
  readonly submittedSeconds: number;
  /** Time when all jobs were submitted and 95% of the waiting of tasks was over. */
  readonly settledSeconds: number;
  readonly seconds: readonly number[];
  readonly busySlots: readonly number[];
  /** Number of submitted tasks that have not started, in any queue. */
  readonly waitingTasks: ByClass<readonly number[]>;
  readonly jobsUnderway: ByClass<readonly number[]>;
  /** Counts from the cluster's counters, which are read less often; null if they were not read. */
  readonly counted: CountedSeries | null;
}

/** Counts since the previous reading, or since the start, in columns of equal length. */
export interface CountedSeries {
  /** Time of each reading. */
  readonly seconds: readonly number[];
  readonly stealAttempts: readonly number[];
  readonly stealSuccesses: readonly number[];
  readonly probesMoved: readonly number[];
  /** Probes and placed tasks in the workers' queues at the reading; null if unknown. */
  readonly queuedEntries: readonly (number | null)[];
}

export interface PredictorAccuracy {
  /** Number of jobs with pilot tasks. */
  readonly jobsSampled: number;
  readonly pilotTasks: number;
  /** |estimate − truth| ÷ truth, over the jobs that had an estimate. */
  readonly meanAbsoluteErrorPercent: number | null;
  readonly medianAbsoluteErrorPercent: number | null;
  readonly p90AbsoluteErrorPercent: number | null;
  /** Percentage of the task seconds in jobs treated as the other class, and its parts by assumed class. */
  readonly misclassifiedPercent: number | null;
  readonly takenForShortPercent: number;
  readonly takenForLongPercent: number;
  readonly misclassifiedJobsPercent: number | null;
  /** Time from submission to decision of sampled jobs; null if there were none. */
  readonly decisionSeconds: Distribution | null;
}

export interface Messages {
  readonly total: number;
  readonly byType: Readonly<Record<string, number>>;
}

export interface Steals {
  readonly attempts: number;
  readonly successes: number;
  readonly probesMoved: number;
}

/** Results of a workload in which some jobs have deadlines (3Sigma §5). */
export interface DeadlineResults {
  readonly jobs: number;
  /** Jobs that did not complete by their deadline. */
  readonly missed: number;
  /** Slot time of the jobs that completed before the last submission. */
  readonly goodputSlotSeconds: { readonly deadline: number; readonly bestEffort: number };
  /** Jobs without a deadline. */
  readonly bestEffortJobs: number;
  readonly bestEffortCompleted: number;
  /** Mean time from submission to completion of the completed ones. */
  readonly bestEffortSeconds: number | null;
}

/** Results of a policy that plans ahead. */
export interface PlanningResults {
  /**
   * Counts by name: `cycles`; `greedy` cycles without a solution, `seeds` cycles whose solution was no
   * better; `preemptions`.
   */
  readonly counts: Readonly<Record<string, number>>;
  /** Wall time of cycles and their parts: to formulate the program, to solve it, to act on the solution. */
  readonly cycleSeconds?: Readonly<Record<'formulate' | 'solve' | 'extract' | 'cycle', CycleSpread>>;
  /** Name of the solver. */
  readonly solver?: string;
}

/** Results of completed jobs with several stages or demands (Carbyne §5.1). */
export interface StagedResults {
  readonly jobs: number;
  /** Time from submission to completion of jobs with several stages. */
  readonly dagSeconds: Distribution;
  /** Time from the beginning of the run to the end of the last of these jobs. */
  readonly makespanSeconds: number;
  /** The share of all workers' resources that their tasks used until then, by resource. */
  readonly utilisation: Readonly<Record<string, number>>;
  readonly fairness: FairnessResults;
  /** Comparison with the same jobs under `drf` and the same seed. */
  readonly againstDrf?: Slowdowns;
}

/**
 * Jain's index in windows. `raw` uses the mean dominant share over the weight, of jobs present for at least
 * half a window. `byNeed` uses the mean share over the attainable share, at most 1: the lesser of an equal
 * share and the need of all tasks that run or may run.
 */
export interface FairnessResults {
  readonly windowSeconds: number;
  readonly raw: IndexSpread | null;
  readonly byNeed: IndexSpread | null;
}

export interface IndexSpread {
  /** Statistics over windows. */
  readonly mean: number;
  readonly min: number;
  readonly windows: number;
}

/** Ratios of the jobs' run times to those of the same jobs in another run. */
export interface Slowdowns {
  readonly slowdown: Distribution;
  /** Shares of jobs that take longer than there, and more than 1.25 times as long. */
  readonly slower: number;
  readonly muchSlower: number;
}

interface CycleSpread {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Results of one policy on the workload under one seed. */
export interface Run {
  readonly policy: string;
  readonly seed: number;
  readonly options: OptionValues;
  readonly jobs: { readonly submitted: number; readonly completed: number; readonly failed: number };
  readonly tasks: { readonly submitted: number; readonly completed: number; readonly attempts: number };
  /** Time from submission to the end of the last task, for completed jobs. */
  readonly runtimeSeconds: ByClassAndAll<Distribution>;
  /** Time from job submission to task start, for each task that started. */
  readonly queueingSeconds: ByClassAndAll<Distribution>;
  readonly utilisation: Utilisation;
  readonly timeParts: ByClass<TimeParts | null>;
  readonly messages: Messages;
  readonly steals: Steals;
  readonly series: Series;
  readonly predictor: PredictorAccuracy | null;
  /** Scores of the shadow estimators, if there were any. */
  readonly shadow?: readonly EstimatorScore[];
  /** Present if jobs have deadlines. */
  readonly deadlines?: DeadlineResults;
  /** Present if the policy plans ahead. */
  readonly planning?: PlanningResults;
  /** Present if jobs have stages or demands. */
  readonly staged?: StagedResults;
  /** Events handled by the simulator; null in a live run. */
  readonly events: number | null;
  readonly wallSeconds: number;
  readonly eventsPerSecond: number | null;
  readonly peakRssBytes: number | null;
}

export interface RatioStatistics<T> {
  readonly p50: T;
  readonly p90: T;
  readonly mean: T;
}

export type Interval = readonly [low: number, high: number];

/** How the intervals of a comparison were computed. */
export interface IntervalMethod {
  readonly level: number;
  readonly resamples: number;
  readonly over: 'jobs' | 'jobs and seeds';
}

/**
 * Job run times of one policy over those of another: below 1, `policy` is the faster one. Null if either has
 * no jobs of the class or the baseline's value is 0.
 */
export interface Ratio extends ByClass<RatioStatistics<number | null>> {
  readonly policy: string;
  readonly baseline: string;
  /** Least and greatest ratio over seeds that both ran, if there are several. */
  readonly spread?: ByClass<RatioStatistics<readonly [least: number, greatest: number] | null>>;
  /** Intervals by the method in `intervals` of the comparison, if the run time of each job is known. */
  readonly interval?: ByClass<RatioStatistics<Interval | null>>;
}

export interface Comparison {
  readonly schema: typeof COMPARISON_SCHEMA;
  readonly workload: Workload;
  readonly cluster: Cluster;
  readonly runs: readonly Run[];
  readonly ratios: readonly Ratio[];
  /** How the intervals of the ratios were computed, if there are any. */
  readonly intervals?: IntervalMethod;
}
