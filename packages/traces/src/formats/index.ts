import { WorkloadError } from '../errors.js';
import type { Jobs, TraceJob } from '../job.js';
import { firstLine } from './lines.js';
import { emptyTrace, looksLikeTr, readTr, TR_LAYOUT, trLines } from './tr.js';

/** A trace format: a file of its own in this folder and a line in `FORMATS`. */
export interface TraceFormat {
  readonly name: string;
  readonly description: string;
  /** Whether a file is of this format, by its first line that is not blank. */
  readonly recognises: (firstLine: string) => boolean;
  /** Jobs in file order, streamed. Throws WorkloadError where the file is wrong. */
  readonly read: (file: string) => AsyncIterable<TraceJob>;
  /** The file's text in pieces. */
  readonly write: (jobs: Jobs) => AsyncIterable<string>;
}

export const FORMATS: Readonly<Record<string, TraceFormat>> = {
  tr: {
    name: 'tr',
    description: `the Sparrow, Hawk and Eagle simulators' text: a job a line, ${TR_LAYOUT}; gzip'd or not`,
    recognises: looksLikeTr,
    read: readTr,
    write: trLines,
  },
};

/**
 * The format of a file, told by its content and never by its name.
 * @throws WorkloadError when the file cannot be read, is empty, or is of no known format
 */
export async function detectFormat(file: string): Promise<TraceFormat> {
  const first = await firstLine(file);
  if (first === undefined) throw emptyTrace(file);
  for (const format of Object.values(FORMATS)) if (format.recognises(first.text)) return format;
  const beginning = first.text.trim().slice(0, 40);
  const shown = /^[\t\x20-\x7e]*$/.test(beginning) ? `it begins with '${beginning}'` : 'it is not text';
  const known = Object.values(FORMATS).map((format) => `${format.name} (${format.description})`);
  throw new WorkloadError(
    `not a known trace format: ${shown}`,
    `known ${known.length === 1 ? 'is' : 'are'} ${known.join(', ')}`,
    { file, line: first.line },
  );
}
