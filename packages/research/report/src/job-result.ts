import type { Resources } from '@goshawk/core';
import type { JobClass } from './comparison.js';

/** Trace time between two samples of the cluster (Hawk §4.1). */
export const UTILISATION_SNAPSHOT_SECONDS = 100;

/** Measurements of one job. All times are in seconds since the run began, on one clock. */
export interface JobResult {
  readonly id: string;
  readonly class: JobClass;
  readonly outcome: 'completed' | 'failed';
  readonly submitSeconds: number;
  /** Time from submission until the client knew that the last task had ended, by the client's clock. */
  readonly runtimeSeconds: number;
  /** Deadline from submission; absent: none. */
  readonly deadlineSeconds?: number;
  readonly taskCount: number;
  /** Stages of a job with several, or with demands: they contain its tasks in order. */
  readonly stages?: readonly StageResult[];
  /** Weight of the job for policies that share by weight; default: 1. */
  readonly weight?: number;
  /** Tasks with a result; by default all if the job completed, otherwise none. */
  readonly tasksCompleted?: number;
  /** Runs of all tasks, including failed and lost ones; by default the number of started tasks. */
  readonly attempts?: number;
  /** Start and run time of each task; tasks of a failed job that never started are absent. */
  readonly taskStartsSeconds: ArrayLike<number>;
  readonly taskRunSeconds: ArrayLike<number>;
}

interface StageResult {
  readonly tasks: number;
  /** Indices of the preceding stages. */
  readonly after: readonly number[];
  /** Demand of each task; a task that demands nothing uses one CPU. */
  readonly demand: Resources;
}

/** Facts that must be known before the first job of a run is counted. */
export interface RunSetup {
  readonly policy: string;
  /** CPUs of the whole cluster; undefined: workers have no fixed number. */
  readonly totalSlots: number | undefined;
  /** Resources of all workers besides slots, if known. */
  readonly capacity?: Resources | undefined;
  /** Interval in run time: 100 s of trace time divided by the scale of a live run. */
  readonly snapshotIntervalSeconds?: number;
  /** Message delays, if known, as in a simulation. */
  readonly messageTimes?: MessageTimes;
  /** Whether to measure shares and fairness of jobs with stages or demands, which keeps their times. Default: true. */
  readonly needsStaged?: boolean | undefined;
}

/** Means over all tasks, in seconds. */
export interface MessageTimes {
  /** Round trip from a free slot's request to the reply. */
  readonly binding: number;
  /** Delay until the end of a task is known; starts derived from ends are late by the same amount. */
  readonly reporting: number;
}

/** The cluster's counters at one moment of a run; all but the last field count from its beginning. */
export interface CounterReading {
  /** Time on the clock of the jobs. */
  readonly seconds: number;
  readonly stealAttempts: number;
  readonly stealSuccesses: number;
  readonly probesMoved: number;
  /** Probes and placed tasks in the workers' queues at that moment, if known. */
  readonly queuedEntries?: number;
}
