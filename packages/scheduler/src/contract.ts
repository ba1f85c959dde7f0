import type { Address, Environment, JobNumber, JobRecord, Millis } from '@goshawk/core';
import type { JobObserver } from './job/job-events.js';
import type { JobTimer } from './job/job-timers.js';

export type SchedulerTimer =
  | JobTimer
  /** Go on with what is done in pieces. */
  | 'piece'
  /** Enlist, or renew the lease. */
  | 'heartbeat'
  /** Look for placements, cancellations and probes that nobody answered. */
  | 'sweep'
  /** Tell watchers how their jobs come along. */
  | 'progress'
  /** Tell central how much short and long work has been done. */
  | 'usage'
  /** Ask again what has become of jobs of others that jobs here wait for. */
  | 'predecessors'
  /** Slots were held for long enough. */
  | 'held'
  /** A job may begin that was to begin later. */
  | 'begin';

export interface SchedulerEnvironment extends Environment<SchedulerTimer>, JobObserver {
  /**
   * Writes down what must outlive this process, and returns the place where it will be. The entry `recorded` says when
   * it is durable. A driver without it keeps jobs for as long as the process lives, and nothing waits.
   */
  record?(record: JobRecord): number;
  /** Reads back what was written down of a job at a place, durable or not; undefined where nothing can be read. */
  recall?(job: JobNumber, place: number): JobRecord | undefined;
  /** Reads back all that was written down of a job, durable or not, from its acceptance on. */
  recallJob?(job: JobNumber): Iterable<JournalEntry>;
  /**
   * Saved estimator state was invalid or from a newer version; the estimator starts fresh. The message says
   * why.
   */
  estimatorStateRefused?(estimator: string, message: string): void;
  /** A job of the journal that has not ended stays there: it does not fit into the memory. */
  leftInJournal?(job: string, bytes: number): void;
  /** The jobs of the incarnations before are here. */
  inherited?(jobs: number): void;
  /** Central wants this process to take over the journal of a scheduler that is gone. */
  takeOver?(name: string, tag: string, epoch: number): void;
  /** Another one has this one’s journal, with a higher epoch: nothing that this one says counts. */
  superseded?(): void;
  /** Another scheduler has the name; this one goes on asking for it. */
  nameTaken?(holder: string, tag: string | undefined): void;
  /** The scheduler drains and holds no job that has not ended; of one that is adopted: nothing is left of its jobs. */
  drained(): void;
}

export interface SchedulerConfig {
  readonly name: string;
  readonly self: Address;
  /** Prefix of its jobs' ids; no other scheduler of the cluster has it. */
  readonly tag: string;
  /** The endpoint for clients. */
  readonly endpoint: string;
  /** `HOST:PORT` where others may look at its process over HTTP. */
  readonly http?: string | undefined;
  readonly central: Address;
  /**
   * Epoch of a journal shared by schedulers: others may take it over, and keys are cluster-wide. 0 or
   * undefined: a local journal.
   */
  readonly epoch?: number | undefined;
  /** The journal is that of a scheduler that is gone: its jobs are looked after, and no others. */
  readonly adopted?: boolean | undefined;
  /** Interval between registration attempts. ms; 0: no retry. */
  readonly enlistRetryMs: number;
  /** Wall clock minus the machine's clock, as it is when it is read: clocks are set. ms */
  readonly wallOffsetMs: Millis;
  /** Jobs kept after their end. */
  readonly endedJobsMax: number;
  /** For so long. ms; if not said, for as long as there are not too many. */
  readonly endedJobsKeepMs?: Millis | undefined;
  /** State left by an earlier incarnation. */
  readonly inheritance?: Inheritance | undefined;
  /** Saved estimator state by name. */
  readonly estimatorStates?: EstimatorStates | undefined;
  /** Bytes of task output kept, over all jobs, where its share of the memory does not say less. */
  readonly logBytesMax: number;
  /** Memory budget, as estimated. Bytes; default: half of Node's heap limit. */
  readonly memoryBytes?: number | undefined;
  /** Hosts that jobs may have notified, as globs. */
  readonly notifyHosts?: readonly string[] | undefined;
  /** Load limits; default: those of core. */
  readonly load?: Partial<LoadLimits> | undefined;
}

/** How much an owner takes at a time. */
export interface LoadLimits {
  /** Number of active jobs. */
  readonly activeJobsMax: number;
  /** Those of one user, as jobs say. */
  readonly activeJobsPerUserMax: number;
  /** Tasks of one user that have not started. */
  readonly userWaitingTasksMax: number;
  /** Memory limit of active jobs, as estimated. */
  readonly activeBytesMax: number;
}

/** Saved state of estimators by name, and job lengths. */
export type EstimatorStates = Readonly<Record<string, unknown>>;

/** Under this name: what the cluster's cutoff is learned from. */
export const JOB_LENGTHS = 'job lengths';

/** A record, and where the journal has it; undefined where it cannot be read back. */
export type JournalEntry = readonly [place: number | undefined, record: JobRecord];

/** An owner's state at a restart. */
export interface Inheritance {
  /**
   * By job, each from its acceptance on; of no job, that is under 0, who the schedulers were. Read once, and one at a
   * time: together they may be more than the memory holds.
   */
  readonly entries: Iterable<JournalEntry>;
  /** When it is read, by the machine's clock: nothing that was written down is later. */
  readonly now: Millis;
  /** The highest number that a job was written down with. */
  readonly lastJob: number;
  /** The incarnations before, the latest last. */
  readonly previousIncarnations: readonly Address[];
  /** So many records are taken in at a time. */
  readonly piece?: number | undefined;
}
