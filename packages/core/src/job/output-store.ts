import type { AttemptNumber, JobNumber, TaskIndex } from '../ids.js';

/** A piece of task output, as a scheduler keeps it. */
export interface StoredOutput {
  /** Number within its job. Numbers increase, also from one incarnation of a scheduler to the next. */
  readonly number: number;
  readonly task: TaskIndex;
  readonly attempt: AttemptNumber;
  readonly stream: 'stdout' | 'stderr';
  readonly bytes: Uint8Array;
  /** Bytes that the attempt printed before, on both streams. */
  readonly offset: number;
  /** When it arrived at the scheduler. Wall clock, ms since 1970. */
  readonly at: number;
}

/** Stored output that no longer exists. */
export interface GoneOutput {
  /** Some output with lower numbers is gone. */
  readonly before: number;
  /** The reason, as the end of a sentence: `the disk of /data was full`. */
  readonly why: string;
}

export interface StoredOutputPage {
  /** In order, from the requested number on. */
  readonly chunks: readonly StoredOutput[];
  /** Number from which to continue; undefined: nothing more is stored. */
  readonly next: number | undefined;
  readonly gone: GoneOutput | undefined;
}

/** Output of a scheduler's jobs that outlives its process. */
export interface OutputStore {
  /** Jobs accepted before this time printed output that was never stored here. Wall clock, ms. */
  readonly since: number;
  /** Number of chunks that are written or given up, since the start. */
  readonly settled: number;
  /** Adds output, which is written later. Never throws. */
  append(job: JobNumber, user: string | undefined, chunk: StoredOutput): void;
  /** A job of an earlier incarnation exists. Output of jobs that are neither restored nor new is deleted. */
  restored(job: JobNumber, user: string | undefined): void;
  /** All jobs of earlier incarnations were restored. */
  allRestored(): void;
  delete(job: JobNumber): void;
  /** Whether output of this job is stored, or was. */
  has(job: JobNumber): boolean;
  /** Returns undefined if the page has to be fetched first: ask again. */
  read(job: JobNumber, from: number): StoredOutputPage | undefined;
}
