import type { Jobs } from '../job.js';
import type { PackedJobs } from '../packed-jobs.js';
import type { Tally } from '../tally.js';

/** A trace format: a file or folder in this folder, and a name in `FORMATS`. */
export interface TraceFormat {
  readonly name: string;
  /** A small trace in this format, in the folder `samples` of the package. */
  readonly sample: string;
  /** Describes a job, for the error if a trace has none. */
  readonly aJob: string;
  /** File extensions, without `.gz`; the first is the usual one. */
  readonly endings: readonly string[];
  /**
   * Whether a file has this format.
   *
   * @param firstLine the first non-blank line
   * @param head about 64 KiB from there on, for documents whose first line is not characteristic
   */
  readonly recognises: (firstLine: string, head: string) => boolean;
  /** Whether a folder has this format, judging by the names in it. Absent if traces are single files. */
  readonly recognisesFolder?: (names: readonly string[]) => boolean;
  /**
   * Whether it is the trace of another system, whose demands a simulation may omit because the machines' capacities
   * may be unknown.
   */
  readonly isForeign?: true;
  /** The files of a trace, relative to it; absent if it is one file. */
  readonly filesIn?: (folder: string) => Promise<readonly string[]>;
  /**
   * Reads jobs in file order, in batches, which may be empty. Throws WorkloadError with file and line of the first
   * error.
   *
   * @param tally counts omissions; complete once all jobs are read
   * @param signal aborts the reading, also between batches; its reason is the error
   */
  readonly read: (path: string, tally?: Tally, signal?: AbortSignal) => AsyncIterable<PackedJobs>;
  /**
   * Writes a file in chunks of text; absent if the format is read-only.
   *
   * @param tally counts features that the format cannot represent
   */
  readonly write?: (jobs: Jobs, tally?: Tally) => AsyncIterable<string>;
}

export type WritableFormat = TraceFormat & Required<Pick<TraceFormat, 'write'>>;
