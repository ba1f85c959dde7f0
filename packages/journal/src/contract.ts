import type { Histogram, JobNumber, JobRecord, JournalState, KeyHolder, Millis } from '@goshawk/core';
import type { Damaged } from './reading.js';

export interface JournalListener {
  /** Called when the first `count` records appended since opening are durable. */
  recorded(count: number): void;
  stateChanged(state: JournalState): void;
  /**
   * Called when another job of the cluster has this job's idempotency key, so that none of its records was written. The
   * call precedes the one that reports the acceptance as durable.
   */
  keyTaken?(job: JobNumber, by: KeyHolder): void;
}

export interface Lineage {
  readonly moves: number;
  /** The state of the original when it was copied; restored: this is an imported backup; undefined: this is no copy. */
  readonly copyOf: 'stopped' | 'running' | 'restored' | undefined;
}

/** Sizes in bytes, durations in ms; counts cover this process only. */
export interface JournalMetrics {
  readonly state: JournalState['kind'] | 'lost';
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
  /** How often a scheduler has continued the journal from a copy of its folder, and whether this one asks to. */
  readonly lineage: Lineage;
  /** Records durably that the cluster has admitted this copy. No effect unless the journal is a copy. */
  admitted(): void;
  /**
   * Returns the records at opening time, each with its place, by job. The first record of a job is its acceptance.
   * Call it once, before appending.
   * @param onDamage called for each skipped record: damage affects one record, or its whole job, but no other jobs
   * @returns places are undefined for records that cannot be read
   */
  entries(
    onDamage: (damaged: Damaged) => void,
  ): Iterable<readonly [place: number | undefined, record: JobRecord]>;
  /**
   * Records a new owner of the journal. Resolves when the record is durable.
   *
   * @param skipped number of further job numbers to skip, after those that may be in use but unrecorded; default 0
   */
  begin(self: string, skipped?: number): Promise<void>;
  /** Sets the listener. Call it once, before the first append. */
  listen(listener: JournalListener): void;
  /**
   * Appends a record. Returns its place; undefined if it cannot be read, so that callers must keep what they
   * need.
   */
  append(record: JobRecord): number | undefined;
  /**
   * Returns the readable record of a job at a place, durable or pending; undefined if there is none. Absent if the
   * journal cannot read records back.
   */
  readonly readRecord: ((job: JobNumber, place: number) => JobRecord | undefined) | undefined;
  /**
   * Returns all readable records of a job, durable or pending, with their places. Absent in journals that read only
   * the ends of attempts.
   */
  readonly readJobRecords:
    | ((job: JobNumber) => Iterable<readonly [place: number, record: JobRecord]>)
    | undefined;
  readonly state: JournalState;
  /** Time without a write while records are pending; 0 if none are. */
  readonly unwrittenMs: Millis;
  metrics(): JournalMetrics;
  /** Duration of commits. ms */
  readonly commitMs: Histogram;
  /**
   * Commits pending records, and releases the journal.
   *
   * @param onWritten called when the last record is durable, before the release; nothing can be read afterwards
   */
  close(onWritten?: () => void): Promise<void>;
}
