import type { Jobs } from '../job.js';
import type { PackedJobs } from '../packed-jobs.js';
import type { Tally } from '../tally.js';

/** A trace format: a file or folder of its own in this folder and a name in `FORMATS`. */
export interface TraceFormat {
  readonly name: string;
  /** Description of a job, for the error if a trace has none. */
  readonly aJob: string;
  /** How the names of such files end, a `.gz` after it aside; the first is the usual one. */
  readonly endings: readonly string[];
  /**
   * Whether a file is of this format.
   * @param firstLine the first that is not blank
   * @param head some 64 KiB from there on, for documents whose first line says nothing
   */
  readonly recognises: (firstLine: string, head: string) => boolean;
  /** Whether a folder is, by the names in it. Absent where a trace is one file. */
  readonly recognisesFolder?: (names: readonly string[]) => boolean;
  /**
   * Whether it is the trace of another system, whose demands a simulation may leave out: who has such a file may not know
   * how much of each resource machines had.
   */
  readonly isForeign?: true;
  /** The files that make up a trace, by their paths within it; absent where it is one file. */
  readonly filesIn?: (folder: string) => Promise<readonly string[]>;
  /**
   * Jobs in the order of the file, in batches as they are read, which may be empty. Throws WorkloadError with file and
   * line at the first thing that is wrong.
   * @param tally counts what is left out, complete once all jobs are read
   */
  readonly read: (path: string, tally?: Tally) => AsyncIterable<PackedJobs>;
  /**
   * The file's text in pieces; absent where a format can only be read.
   * @param tally counts what the format has no place for
   */
  readonly write?: (jobs: Jobs, tally?: Tally) => AsyncIterable<string>;
}

export type WritableFormat = TraceFormat & Required<Pick<TraceFormat, 'write'>>;
