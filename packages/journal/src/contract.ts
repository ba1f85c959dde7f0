import type { Histogram, JobNumber, JobRecord, JournalState, KeyHolder, Millis } from '@goshawk/core';
import type { Damaged } from './reading.js';

export interface JournalListener {
  /** The first `count` records that were appended since the journal was opened are on the disk. */
  recorded(count: number): void;
  stateChanged(state: JournalState): void;
  /**
   * Another job of the cluster has this job's key, and no record was written. Reported before the acceptance
   * counts as durable.
   */
  keyTaken?(job: JobNumber, by: KeyHolder): void;
}

/** Sizes in bytes, durations in ms; counts are of this process. */
export interface JournalMetrics {
  readonly state: JournalState['kind'];
  /** Size of the file, and bytes in use. */
  readonly fileBytes: number;
  readonly usedBytes: number;
  /** Free space of the disk; undefined if it is not monitored. */
  readonly freeBytes: number | undefined;
  /** Time since the last backup; undefined: none is known. */
  readonly backupAgeMs: Millis | undefined;
  readonly recordsAppended: number;
  readonly recordsWritten: number;
  readonly commits: number;
  readonly lastCommitMs: Millis;
  readonly longestCommitMs: Millis;
}

/**
 * The durable record of one scheduler's jobs. Records become durable in the order in which they are appended,
 * in groups: records appended during a commit go with the next one.
 */
export interface Journal {
  /** Epoch of the ownership, higher for each owner. 0 if it cannot be taken over. */
  readonly epoch: number;
  /** Prefix of the ids of all jobs in it; drawn when it was made. */
  readonly tag: string;
  /** The addresses, by name, of those who had this journal before, the latest last. */
  readonly previousIncarnations: readonly string[];
  /** The highest number of a job that was ever written down, or passed over; 0 when none was. */
  readonly lastJob: number;
  /**
   * The records at opening time, each with its place: job by job, each beginning with its acceptance. Read
   * once, before appending.
   * @param onDamage called for each skipped record: damage costs one record, or its job, never others
   */
  entries(onDamage: (damaged: Damaged) => void): Iterable<readonly [place: number, record: JobRecord]>;
  /**
   * Writes down who has the journal from now on, and returns when that is on the disk.
   *
   * @param skipped so many numbers of jobs are passed over, beside those that may not have been written down; default 0
   */
  begin(self: string, skipped?: number): Promise<void>;
  /** To be called once, before anything is appended. */
  listen(listener: JournalListener): void;
  /** @returns the record's place */
  append(record: JobRecord): number;
  /**
   * The readable record of a job at a place, durable or pending; undefined without one. Journals that cannot
   * be read synchronously have none: callers must keep what they need.
   */
  readonly recall: ((job: JobNumber, place: number) => JobRecord | undefined) | undefined;
  /** All records of a job, on the disk or not, with their places; those that cannot be read are left out. */
  readonly recallJob: ((job: JobNumber) => Iterable<readonly [place: number, record: JobRecord]>) | undefined;
  readonly state: JournalState;
  /** For how long nothing was written while records wait for the disk; 0 while none does. */
  readonly unwrittenMs: Millis;
  metrics(): JournalMetrics;
  /** How long commits took. ms */
  readonly commitMs: Histogram;
  /**
   * Commits what was appended, and lets others have the journal.
   *
   * @param onWritten called between the two, when the last was recorded: nothing can be recalled after it
   */
  close(onWritten?: () => void): Promise<void>;
}
