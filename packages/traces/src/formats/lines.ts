import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { createGunzip } from 'node:zlib';
import { WorkloadError } from '../errors.js';

/** Bytes of one line at most: a job of about four million tasks. More is no trace, or a broken one. */
const LINE_BYTES_MAX = 64 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 10;

/** Refuses what cannot be read as a trace file, before anything is opened. */
export async function checkReadable(file: string): Promise<void> {
  let found: Awaited<ReturnType<typeof stat>>;
  try {
    found = await stat(file);
  } catch (cause) {
    throw unreadable(file, cause);
  }
  if (found.isDirectory()) {
    throw new WorkloadError('this is a folder', 'name one trace file in it', { file });
  }
}

/** Content of a file in chunks, decompressed where its first bytes say gzip (whatever it is called). */
export async function* readChunks(file: string): AsyncGenerator<Buffer> {
  await checkReadable(file);
  const gzipped = await isGzipped(file);
  const source = createReadStream(file, { highWaterMark: CHUNK_BYTES });
  // `pipe` does not pass a read error on, and without it the reader would wait for ever.
  const content = gzipped ? source.pipe(createGunzip({ chunkSize: CHUNK_BYTES })) : source;
  source.on('error', (error) => content.destroy(error));
  try {
    for await (const chunk of content) yield chunk as Buffer;
  } catch (cause) {
    throw gzipped ? brokenGzip(file, cause) : unreadable(file, cause);
  } finally {
    source.destroy();
  }
}

/**
 * Lines of a text file, in batches as they arrive (a batch costs one turn of the event loop, a line
 * none). Line ends are not included; a carriage return before one is left in place.
 */
export async function* readLineBatches(file: string): AsyncGenerator<string[]> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let lines = 0;
  for await (const chunk of readChunks(file)) {
    const batch: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const rest = chunk.subarray(start, end);
      batch.push(pendingBytes === 0 ? text(rest) : text(Buffer.concat([...pending, rest])));
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
  if (pendingBytes > 0) yield [text(Buffer.concat(pending))];
}

/** The first line that is not blank, with its number; undefined when there is none. */
export async function firstLine(file: string): Promise<{ text: string; line: number } | undefined> {
  let line = 0;
  for await (const batch of readLineBatches(file)) {
    for (const candidate of batch) {
      line++;
      if (candidate.trim() !== '') return { text: candidate, line };
    }
  }
  return undefined;
}

async function isGzipped(file: string): Promise<boolean> {
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    handle = await open(file);
  } catch (cause) {
    throw unreadable(file, cause);
  }
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await handle.close();
  }
}

function text(bytes: Buffer): string {
  return bytes.toString('utf8');
}

function unreadable(file: string, cause: unknown): WorkloadError {
  const code = (cause as NodeJS.ErrnoException).code;
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    return new WorkloadError('no such file', 'check the path', { file, cause });
  }
  if (code === 'EACCES') {
    return new WorkloadError('no permission to read the file', 'check its mode and owner', { file, cause });
  }
  return new WorkloadError(`cannot be read (${(cause as Error).message})`, 'check the file', { file, cause });
}

function brokenGzip(file: string, cause: unknown): WorkloadError {
  const truncated = (cause as NodeJS.ErrnoException).code === 'Z_BUF_ERROR';
  return new WorkloadError(
    truncated ? 'the gzip data ends too early' : `the gzip data is damaged (${(cause as Error).message})`,
    'copy or download the file again',
    { file, cause },
  );
}
