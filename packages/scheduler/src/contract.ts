import type { Address, Environment, JobNumber, JobRecord, Millis } from '@goshawk/core';
import type { JobObserver } from './job/job-events.js';
import type { JobTimer } from './job/job-timers.js';

export type SchedulerTimer =
  | JobTimer
  /** Continue chunked work. */
  | 'chunk'
  /** Enlist, or renew the lease. */
  | 'heartbeat'
  /** Retry unanswered placements, cancellations and probes. */
  | 'sweep'
  /** Send progress to clients that watch jobs. */
  | 'progress'
  /** Report usage to central. */
  | 'usage'
  /** Ask again about predecessors that other schedulers own. */
  | 'predecessors'
  /** Release the slots that wait for the next job. */
  | 'held'
  /** A job's begin time has come. */
  | 'begin';

export interface SchedulerEnvironment extends Environment<SchedulerTimer>, JobObserver {
  /**
   * Appends a record that must outlive this process, and returns its journal position, or undefined if it cannot be
   * read back. The driver calls `recorded` once it is durable. Without this method, jobs end with the process.
   */
  record?(record: JobRecord): number | undefined;
  /** Reads the record of a job at a position, durable or not; undefined if it cannot be read. */
  readRecord?(job: JobNumber, place: number): JobRecord | undefined;
  /** Reads all records of a job, durable or not, starting with its acceptance. */
  readJobRecords?(job: JobNumber): Iterable<JournalEntry>;
  /**
   * Saved estimator state was invalid or from a newer version; the estimator starts fresh. The message says
   * why.
   */
  estimatorStateRefused?(estimator: string, message: string): void;
  /** An unfinished job stays in the journal because it does not fit into memory. */
  leftInJournal?(job: string, bytes: number): void;
  /** The jobs of previous incarnations have been loaded. */
  inherited?(jobs: number): void;
  /** Central asks this process to take over the journal of a lost scheduler. */
  takeOver?(name: string, tag: string, epoch: number): void;
  /** Another scheduler has taken over this journal with a higher epoch, so messages of this one no longer count. */
  superseded?(): void;
  /** Another scheduler has the name; this one keeps trying to enlist. */
  nameTaken?(holder: string, tag: string | undefined): void;
  /** The scheduler is draining and has no unfinished jobs; an adopted one has no jobs at all. */
  drained(): void;
}

export interface SchedulerConfig {
  readonly name: string;
  readonly self: Address;
  /** Prefix of its jobs' ids, unique in the cluster. */
  readonly tag: string;
  /** The endpoint for clients. */
  readonly endpoint: string;
  /** `HOST:PORT` of the HTTP server of its process. */
  readonly http?: string | undefined;
  readonly central: Address;
  /**
   * Epoch of a journal shared by schedulers: others may take it over, and keys are cluster-wide. 0 or undefined: a
   * local journal.
   */
  readonly epoch?: number | undefined;
  /** Whether the journal is of a lost scheduler. This scheduler finishes its jobs and accepts no others. */
  readonly adopted?: boolean | undefined;
  /** Interval between registration attempts in milliseconds; 0: no retry. */
  readonly enlistRetryMs: number;
  /** Wall clock minus the machine's clock, in milliseconds. It changes when clocks are set. */
  readonly wallOffsetMs: Millis;
  /** Whether estimators compare job names only among jobs of the same user. Default: false. */
  readonly hasPrivateNames?: boolean | undefined;
  /** Maximum number of ended jobs kept. */
  readonly endedJobsMax: number;
  /** How long ended jobs are kept, in milliseconds; absent: limited only in number. */
  readonly endedJobsKeepMs?: Millis | undefined;
  /** State left by an earlier incarnation. */
  readonly inheritance?: Inheritance | undefined;
  /** Saved estimator state by name. */
  readonly estimatorStates?: EstimatorStates | undefined;
  /** Limit on task output in bytes, over all jobs, in addition to its share of memory. */
  readonly logBytesMax: number;
  /** Memory budget, by estimate, in bytes; default: half of Node's heap limit. */
  readonly memoryBytes?: number | undefined;
  /** Globs of hosts that notifications may reach. */
  readonly notifyHosts?: readonly string[] | undefined;
  /** Whether the usage of users is counted. Default: true. */
  readonly countsUsage?: boolean | undefined;
  /** Load limits; default: those of core. */
  readonly load?: Partial<LoadLimits> | undefined;
}

/** Limits on accepted work. */
export interface LoadLimits {
  /** Maximum number of active jobs. */
  readonly activeJobsMax: number;
  /** Maximum number of active jobs of one user. */
  readonly activeJobsPerUserMax: number;
  /** Maximum number of tasks of one user that have not started. */
  readonly userWaitingTasksMax: number;
  /** Limit on the estimated memory of active jobs, in bytes. */
  readonly activeBytesMax: number;
}

/** Saved state of estimators by name, and job lengths. */
export type EstimatorStates = Readonly<Record<string, unknown>>;

/** Name under which the data for learning the cutoff is saved. */
export const JOB_LENGTHS = 'job lengths';

/** A record and its journal position; undefined: it cannot be read again. */
export type JournalEntry = readonly [place: number | undefined, record: JobRecord];

/** An owner's state at a restart. */
export interface Inheritance {
  /**
   * Records by job, each job starting with its acceptance; job 0 holds the list of schedulers. The iterable is read
   * once, because the records together may exceed the memory.
   */
  readonly entries: Iterable<JournalEntry>;
  /** Time of reading, on the machine's clock; no record is later. */
  readonly now: Millis;
  /** The highest recorded job number. */
  readonly lastJob: number;
  /** Previous incarnations, latest last. */
  readonly previousIncarnations: readonly Address[];
  /** Number of records processed at a time. */
  readonly chunkSize?: number | undefined;
}
