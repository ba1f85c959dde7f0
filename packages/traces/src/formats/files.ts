import { createReadStream } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { createGunzip } from 'node:zlib';
import { WorkloadError } from '../errors.js';

/** Bytes of one line at most: a job of about four million tasks. More is no trace, or a broken one. */
const LINE_BYTES_MAX = 64 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 10;
/** What editors of Windows write before the first line of UTF-8. */
const BYTE_ORDER_MARK = Buffer.of(0xef, 0xbb, 0xbf);

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
  let isFirst = true;
  try {
    for await (const chunk of content as AsyncIterable<Buffer>) {
      const isMarked = isFirst && chunk.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
      yield isMarked ? chunk.subarray(BYTE_ORDER_MARK.length) : chunk;
      isFirst = false;
    }
  } catch (cause) {
    throw gzipped ? brokenGzip(file, lineNow(), cause) : unreadable(file, cause);
  } finally {
    source.destroy();
  }
}

/**
 * Bytes of a file as they arrive, in pieces of whole lines with their ends, also where the last has none.
 *
 * @param linesRead how many there were in the pieces so far, for errors
 */
export async function* readWholeLines(file: string, linesRead: () => number): AsyncGenerator<Buffer> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  for await (const chunk of readChunks(file, () => linesRead() + 1)) {
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    if (end > 0) {
      const whole = chunk.subarray(0, end);
      yield pendingBytes === 0 ? whole : Buffer.concat([...pending, whole]);
      pending = [];
      pendingBytes = 0;
    }
    if (end === chunk.length) continue;
    pending.push(chunk.subarray(end));
    pendingBytes += chunk.length - end;
    if (pendingBytes > LINE_BYTES_MAX) {
      throw new WorkloadError(
        `the line is longer than ${LINE_BYTES_MAX / 1024 / 1024} MiB`,
        'a trace has one job a line: check that this is a text file',
        { file, line: linesRead() + 1 },
      );
    }
  }
  if (pendingBytes > 0) yield Buffer.concat([...pending, Buffer.of(NEWLINE)]);
}

/**
 * Lines of a text file in batches as they arrive: a batch costs one turn of the event loop, a line none. Line ends
 * are not included; a carriage return before one is left in place.
 */
export async function* readLineBatches(file: string): AsyncGenerator<string[]> {
  let lines = 0;
  for await (const bytes of readWholeLines(file, () => lines)) {
    const batch = [...linesOf(bytes)];
    lines += batch.length;
    yield batch;
  }
}

function* linesOf(bytes: Buffer): Generator<string> {
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    yield bytes.toString('utf8', start, end);
    start = end + 1;
  }
}

/** The first line that is not blank, with its number; undefined when there is none. */
export async function firstLine(file: string): Promise<{ text: string; line: number } | undefined> {
  let line = 0;
  for await (const bytes of readWholeLines(file, () => line)) {
    for (const text of linesOf(bytes)) {
      line++;
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

function brokenGzip(file: string, line: number, cause: unknown): WorkloadError {
  const truncated = (cause as NodeJS.ErrnoException).code === 'Z_BUF_ERROR';
  return new WorkloadError(
    truncated ? 'the gzip data ends too early' : `the gzip data is damaged (${(cause as Error).message})`,
    'copy or download the file again',
    { file, line, cause },
  );
}

/** @throws WorkloadError when there is nothing, or it may not be looked at */
export async function isFolder(path: string): Promise<boolean> {
  return (await orUnreadable(path, stat(path))).isDirectory();
}

/** Names in a folder, sorted. */
export async function namesIn(folder: string): Promise<string[]> {
  return (await orUnreadable(folder, readdir(folder))).sort();
}

/** Refuses what cannot be read as one file. */
async function checkFile(path: string): Promise<void> {
  if (await isFolder(path)) {
    throw new WorkloadError('this is a folder', 'name one trace file in it', { file: path });
  }
}

async function orUnreadable<T>(path: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (cause) {
    throw unreadable(path, cause);
  }
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
