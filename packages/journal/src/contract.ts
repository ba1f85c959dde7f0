import type { Histogram, JobNumber, JobRecord, JournalState, KeyHolder, Millis } from '@goshawk/core';
import type { Damaged } from './reading.js';

export interface JournalListener {
  /** The first `count` records appended since opening are durable. */
  recorded(count: number): void;
  stateChanged(state: JournalState): void;
  /**
   * Another job of the cluster has this job's key, and no record was written. Reported before the acceptance
   * counts as durable.
   */
  keyTaken?(job: JobNumber, by: KeyHolder): void;
}

/** Sizes in bytes, durations in ms; counts cover this process only. */
export interface JournalMetrics {
  readonly state: JournalState['kind'];
  /** Size of the file, and bytes in use. */
  readonly fileBytes: number;
  readonly usedBytes: number;
  /** Free space of the disk; undefined if it is not monitored. */
  readonly freeBytes: number | undefined;
  /** Time since the last backup; undefined: no backup is known. */
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
  /** Prefix of all job ids in the journal, drawn at its creation. */
  readonly tag: string;
  /** Addresses of the earlier owners, by name, latest last. */
  readonly previousIncarnations: readonly string[];
  /** The highest job number that was ever recorded or skipped; 0 if none. */
  readonly lastJob: number;
  /**
   * The records at opening time, each with its place: job by job, each beginning with its acceptance. Read
   * once, before appending.
   * @param onDamage called for each skipped record: damage costs one record, or its job, never others
   * @returns places are undefined for records that cannot be recalled
   */
  entries(
    onDamage: (damaged: Damaged) => void,
  ): Iterable<readonly [place: number | undefined, record: JobRecord]>;
  /**
   * Records a new owner of the journal, and returns when that is durable.
   *
   * @param skipped number of job numbers to skip, beside those that may be in use but unrecorded; default 0
   */
  begin(self: string, skipped?: number): Promise<void>;
  /** Call it once, before anything is appended. */
  listen(listener: JournalListener): void;
  /** @returns the record's place; undefined: it cannot be recalled, so callers must keep what they need */
  append(record: JobRecord): number | undefined;
  /**
   * The readable record of a job at a place, durable or pending; undefined without one. Journals that read nothing back
   * have none.
   */
  readonly recall: ((job: JobNumber, place: number) => JobRecord | undefined) | undefined;
  /**
   * All records of a job, durable or pending, with their places; unreadable ones are omitted. Undefined for journals
   * that recall only the ends of attempts.
   */
  readonly recallJob: ((job: JobNumber) => Iterable<readonly [place: number, record: JobRecord]>) | undefined;
  readonly state: JournalState;
  /** Time without a write while records are pending; 0 if none are. */
  readonly unwrittenMs: Millis;
  metrics(): JournalMetrics;
  /** Duration of commits. ms */
  readonly commitMs: Histogram;
  /**
   * Commits pending records, and releases the journal.
   *
   * @param onWritten called between the two, when the last record is durable: nothing can be read after it
   */
  close(onWritten?: () => void): Promise<void>;
}
