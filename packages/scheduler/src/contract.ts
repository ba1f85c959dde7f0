import type { Address, Environment, JobRecord, Millis } from '@goshawk/core';
import type { Job } from './job.js';

export type SchedulerTimer =
  /** Enlist, or renew the lease. */
  | 'heartbeat'
  /** Look for placements, cancellations and probes that nobody answered. */
  | 'sweep'
  /** Tell watchers how their jobs come along. */
  | 'progress'
  /** Tell central how much short and long work has been done. */
  | 'usage'
  /** Ask again what the pilots of a job say. */
  | 'weigh';

export interface SchedulerEnvironment extends Environment<SchedulerTimer> {
  /**
   * Writes down what must outlive this process. The door `recorded` says when it is durable. A driver without it keeps
   * jobs for as long as the process lives, and nothing waits.
   */
  record?(record: JobRecord): void;
  /**
   * What the cluster's estimator had learnt before is none of its own, or of a newer version; it begins anew. The
   * message says why.
   */
  learntRefused?(estimator: string, message: string): void;
  /** A job was accepted, and nothing has become of it yet. */
  jobAccepted?(job: Job): void;
  /** A job has reached its end; its record is complete and will not change. */
  jobEnded(job: Job): void;
  /** The scheduler drains and holds no job that has not ended. */
  drained(): void;
}

export interface SchedulerConfig {
  readonly name: string;
  readonly self: Address;
  /** Prefix of its jobs' ids; no other scheduler of the cluster has it. */
  readonly tag: string;
  /** Where clients reach it. */
  readonly endpoint: string;
  readonly central: Address;
  /** Between attempts to enlist. ms; 0: never again. */
  readonly enlistRetryMs: number;
  /** Wall clock minus the machine's clock. ms */
  readonly wallOffsetMs: Millis;
  /** Jobs kept after their end. */
  readonly endedJobsMax: number;
  /** For so long. ms; if not said, for as long as there are not too many. */
  readonly endedJobsKeepMs?: Millis | undefined;
  /** What an earlier incarnation has left behind. */
  readonly inheritance?: Inheritance | undefined;
  /** What estimators had learnt, by their names: the cluster's goes on from there. */
  readonly learnt?: Learnt | undefined;
  /** Bytes of task output kept, over all jobs. */
  readonly logBytesMax: number;
  /** What is refused as too much; core's limits by default. */
  readonly load?: Partial<LoadLimits> | undefined;
}

/** How much an owner takes at a time. */
export interface LoadLimits {
  /** Jobs that have not ended. */
  readonly activeJobsMax: number;
  /** Those of one user, as jobs say. */
  readonly activeJobsPerUserMax: number;
  /** What they take of its memory, as `bytesOf` estimates it. */
  readonly activeBytesMax: number;
}

/** What estimators save, by their names. */
export type Learnt = Readonly<Record<string, unknown>>;

/** What is known of an owner's jobs when it starts again. */
export interface Inheritance {
  /** By job, each from its acceptance on. */
  readonly records: Iterable<JobRecord>;
  /** The highest number that a job was written down with. */
  readonly lastJob: number;
  /** The incarnations before, the latest last. */
  readonly formers: readonly Address[];
}

/** Counted since the start. */
export interface SchedulerCounters {
  jobsAccepted: number;
  /** Submissions that were told to come back later. */
  jobsRefused: number;
  jobsEnded: number;
  tasksBound: number;
  tasksCompleted: number;
  tasksFailed: number;
  /** Attempts that failed and were tried again. */
  retries: number;
  /** Attempts that were cut short with their worker. */
  lost: number;
  probesSent: number;
  /** Probes that were answered "none left". */
  asksRefused: number;
  /** Reports of attempts that no longer count. */
  staleReports: number;
}
