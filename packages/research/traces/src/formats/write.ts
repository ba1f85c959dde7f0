import { open, rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { WorkloadError } from '../errors.js';
import type { Jobs } from '../job.js';
import type { Tally } from '../tally.js';
import type { WritableFormat } from './trace-format.js';

/**
 * Writes jobs to a file, gzipped if its name ends in `.gz`. The file is replaced atomically: if the reader or
 * generator fails, its old content stays.
 *
 * @param tally counts features that the format cannot represent
 * @throws WorkloadError if the file cannot be written
 */
export async function writeTrace(
  file: string,
  format: WritableFormat,
  jobs: Jobs,
  tally?: Tally,
): Promise<void> {
  const partial = `${file}.partial-${process.pid}`;
  const text = Readable.from(format.write(jobs, tally));
  try {
    // Opened here, because a stream that opens the file itself may do so after it was removed.
    const target = (await open(partial, 'w')).createWriteStream();
    await (file.endsWith('.gz') ? pipeline(text, createGzip(), target) : pipeline(text, target));
    await rename(partial, file);
  } catch (cause) {
    await rm(partial, { force: true });
    if (cause instanceof WorkloadError || (cause as NodeJS.ErrnoException).syscall === undefined) throw cause;
    throw new WorkloadError(
      `cannot be written (${(cause as Error).message})`,
      'check the folder and the free space',
      { file, cause },
    );
  }
}
