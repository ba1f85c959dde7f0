import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { createGunzip } from 'node:zlib';
import { WorkloadError } from '../errors.js';
import { checkFile, orUnreadable, unreadable } from './paths.js';

/** Bytes of one line at most: a job of about four million tasks. More is no trace, or a broken one. */
const LINE_BYTES_MAX = 64 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 10;

/**
 * Content of a file in chunks, decompressed where its first bytes say gzip (whatever it is called).
 * @param lineNow the line that has been reached, for the error where the compressed data is damaged
 */
async function* readChunks(file: string, lineNow: () => number): AsyncGenerator<Buffer> {
  await checkFile(file);
  const gzipped = await isGzipped(file);
  const source = createReadStream(file, { highWaterMark: CHUNK_BYTES });
  // `pipe` does not pass a read error on, and without it the reader would wait for ever.
  const content = gzipped ? source.pipe(createGunzip({ chunkSize: CHUNK_BYTES })) : source;
  source.on('error', (error) => content.destroy(error));
  try {
    for await (const chunk of content) yield chunk as Buffer;
  } catch (cause) {
    throw gzipped ? brokenGzip(file, lineNow(), cause) : unreadable(file, cause);
  } finally {
    source.destroy();
  }
}

/** Lines of a text file, as `readByteLines` gives them. */
export async function* readLineBatches(file: string): AsyncGenerator<string[]> {
  for await (const batch of readByteLines(file)) yield batch.map(textOf);
}

/**
 * Lines of a file as bytes, in batches as they arrive (a batch costs one turn of the event loop, a line
 * none). Line ends are not included; a carriage return before one is left in place.
 */
export async function* readByteLines(file: string): AsyncGenerator<Buffer[]> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let lines = 0;
  for await (const chunk of readChunks(file, () => lines + 1)) {
    const batch: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const rest = chunk.subarray(start, end);
      batch.push(pendingBytes === 0 ? rest : Buffer.concat([...pending, rest]));
      pending = [];
      pendingBytes = 0;
      start = end + 1;
    }
    if (start < chunk.length) {
      pending.push(chunk.subarray(start));
      pendingBytes += chunk.length - start;
    }
    lines += batch.length;
    if (pendingBytes > LINE_BYTES_MAX) {
      throw new WorkloadError(
        `the line is longer than ${LINE_BYTES_MAX / 1024 / 1024} MiB`,
        'a trace has one job a line: check that this is a text file',
        { file, line: lines + 1 },
      );
    }
    if (batch.length > 0) yield batch;
  }
  if (pendingBytes > 0) yield [Buffer.concat(pending)];
}

/** The first line that is not blank, with its number; undefined when there is none. */
export async function firstLine(file: string): Promise<{ text: string; line: number } | undefined> {
  let line = 0;
  for await (const batch of readByteLines(file)) {
    for (const candidate of batch) {
      line++;
      const text = textOf(candidate);
      if (text.trim() !== '') return { text, line };
    }
  }
  return undefined;
}

/** @param advice how a job would look */
export function emptyTrace(file: string, advice: string): WorkloadError {
  return new WorkloadError('the trace is empty', advice, { file });
}

async function isGzipped(file: string): Promise<boolean> {
  const handle = await orUnreadable(file, open(file));
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await handle.close();
  }
}

function textOf(bytes: Buffer): string {
  return bytes.toString('utf8');
}

function brokenGzip(file: string, line: number, cause: unknown): WorkloadError {
  const truncated = (cause as NodeJS.ErrnoException).code === 'Z_BUF_ERROR';
  return new WorkloadError(
    truncated ? 'the gzip data ends too early' : `the gzip data is damaged (${(cause as Error).message})`,
    'copy or download the file again',
    { file, line, cause },
  );
}
