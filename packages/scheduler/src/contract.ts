import type {
  Address,
  Environment,
  JobNumber,
  JobRecord,
  MessageOf,
  Millis,
  OutputStore,
} from '@goshawk/core';
import type { Job } from './job/job.js';
import type { JobObserver } from './job/job-events.js';
import type { JobTimer } from './job/job-timers.js';

export type SchedulerTimer =
  | JobTimer
  /** Continue work that is split into chunks, such as loading the journal. */
  | 'chunk'
  /** Enlist with central, or renew the lease. */
  | 'heartbeat'
  /** Retry unanswered placements, cancellations and probes. */
  | 'sweep'
  /** Send job progress to the clients that watch jobs. */
  | 'progress'
  /** Report usage to central. */
  | 'usage'
  /** Ask other schedulers again about predecessor jobs that they own. */
  | 'predecessors'
  /** Release worker slots that have waited too long for a task. */
  | 'waitingSlots'
  /** Start jobs whose begin time has come. */
  | 'begin';

export interface SchedulerEnvironment extends Environment<SchedulerTimer>, JobObserver {
  /**
   * Appends a record that must outlive this process, and returns its journal position, or undefined if it cannot be
   * read back. The driver calls `recorded` once the record is durable. Without this method, a restart loses all jobs.
   */
  record?(record: JobRecord): number | undefined;
  /** Reads the record of a job at a journal position, durable or not; undefined if it cannot be read. */
  readRecord?(job: JobNumber, position: number): JobRecord | undefined;
  /** Reads all records of a job, durable or not, starting with its acceptance. */
  readJobRecords?(job: JobNumber): Iterable<JournalEntry>;
  /** Stores task output beyond the life of this process; absent: it is kept in memory only. */
  readonly outputStore?: OutputStore | undefined;
  /** The saved estimator state was invalid or from a newer version, so the estimator starts without it. */
  estimatorStateRefused?(estimator: string, message: string): void;
  /**
   * The estimator threw or gave an invalid answer, which the submitter's estimate replaces. May be called for each job.
   *
   * @param error what it threw, or a text
   */
  estimatorFailed?(estimator: string, error: unknown): void;
  /** An unfinished job was not loaded from the journal because it does not fit into memory. */
  leftInJournal?(job: string, bytes: number): void;
  /** The jobs of previous incarnations have been loaded. */
  inherited?(jobs: number): void;
  /** Central asks this process to take over the journal of a lost scheduler. */
  takeOver?(name: string, tag: string, epoch: number): void;
  /** Another scheduler has taken over this journal with a higher epoch, so other processes ignore this one. */
  superseded?(): void;
  /** Another scheduler uses the same name. This scheduler keeps trying to enlist. */
  nameTaken?(holder: string, tag: string | undefined, needsTakeover: boolean): void;
  /** Central has admitted this scheduler, so its journal is no longer a mere copy. */
  admitted?(): void;
  /**
   * Reports the end of the job to the target that its submitter named. The driver calls `notified` once that has happened
   * or never will; until then, each restart reports it again.
   */
  notify?(job: Job): void;
  /** The scheduler is draining and has no unfinished jobs, or its journal is adopted and has no jobs at all. */
  drained(): void;
}

export interface SchedulerConfig {
  readonly name: string;
  readonly self: Address;
  /** Prefix of the ids of this scheduler's jobs, unique in the cluster. */
  readonly tag: string;
  /** Endpoint to which clients connect. */
  readonly endpoint: string;
  /** `HOST:PORT` of the HTTP server of this process. */
  readonly http?: string | undefined;
  readonly central: Address;
  /**
   * Epoch of a journal in a shared database: other schedulers may take the journal over, and job keys are unique in
   * the cluster. 0 or undefined: the journal is local.
   */
  readonly epoch?: number | undefined;
  /** Whether this scheduler took over the journal of a lost one. It finishes those jobs and accepts no others. */
  readonly adopted?: boolean | undefined;
  /** Interval between registration attempts in milliseconds; 0: no retry. */
  readonly enlistRetryMs: number;
  /** Wall-clock time minus the monotonic time (`now`), in milliseconds. It changes when the system clock is set. */
  readonly wallOffsetMs: Millis;
  /** Whether estimators treat equal job names of different users as different. Default: false. */
  readonly hasPrivateNames?: boolean | undefined;
  /** Maximum number of ended jobs kept. */
  readonly endedJobsMax: number;
  /** How long ended jobs are kept, in milliseconds; absent: only `endedJobsMax` limits them. */
  readonly endedJobsKeepMs?: Millis | undefined;
  /** State left by an earlier incarnation. */
  readonly inheritance?: Inheritance | undefined;
  /** Saved estimator state by name. */
  readonly estimatorStates?: EstimatorStates | undefined;
  /** Limit on kept task output over all jobs, in bytes. Output is also limited by its share of `memoryBytes`. */
  readonly logBytesMax: number;
  /** Tells where its journal comes from; undefined: it was never copied. */
  readonly lineage?: MessageOf<'enlist'>['lineage'];
  /** Limit on the estimated memory of jobs, in bytes; default: half of Node's heap limit. */
  readonly memoryBytes?: number | undefined;
  /** Globs of hosts, `mail:` addresses and `command:` commands to which notifications may be sent. */
  readonly notifyHosts?: readonly string[] | undefined;
  /** Whether the scheduler accounts resource usage per user. Default: true. */
  readonly countsUsage?: boolean | undefined;
  /** Load limits; those omitted have default values. */
  readonly load?: Partial<LoadLimits> | undefined;
}

/** Limits above which the scheduler refuses new jobs. */
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

/** Saved state by estimator name, and job lengths under `JOB_LENGTHS`. */
export type EstimatorStates = Readonly<Record<string, unknown>>;

/** Key under which the job lengths, from which central learns the cutoff, are saved. */
export const JOB_LENGTHS = 'job lengths';

/** A record and its journal position; undefined: the record cannot be read again. */
export type JournalEntry = readonly [position: number | undefined, record: JobRecord];

/** State that a restarted scheduler takes over from its previous incarnations. */
export interface Inheritance {
  /**
   * Records grouped by job, each job starting with its acceptance. Records of job 0 are about no job: lists of
   * schedulers, and usage. The iterable is read once, because all records together may exceed the memory.
   */
  readonly entries: Iterable<JournalEntry>;
  /** When the journal was read, in monotonic time. No record is later. */
  readonly now: Millis;
  /** Highest job number in the journal. */
  readonly lastJob: number;
  /** Previous incarnations, latest last. */
  readonly previousIncarnations: readonly Address[];
  /** Number of records processed before the scheduler handles other events. */
  readonly chunkSize?: number | undefined;
}
