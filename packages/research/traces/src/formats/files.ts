import { createReadStream } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { createGunzip } from 'node:zlib';
import { WorkloadError } from '../errors.js';
import type { Tallied } from '../tally.js';

/** Maximum length of a line: a job of a million tasks has about 20 MiB. */
const LINE_BYTES_MAX = 32 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 10;
/** Some Windows editors write this at the start of UTF-8 files. */
const BYTE_ORDER_MARK = Buffer.of(0xef, 0xbb, 0xbf);

/**
 * Reads a file in chunks, and decompresses it if its first bytes are those of gzip, regardless of its name.
 *
 * @param lineNow current line, for errors
 * @throws WorkloadError; the signal's reason
 */
export async function* readChunks(
  file: string,
  lineNow: () => number = () => 1,
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  await checkFile(file);
  const gzipped = await isGzipped(file);
  const source = createReadStream(file, { highWaterMark: CHUNK_BYTES });
  // `pipe` does not forward read errors, and without this the reader would wait forever.
  const content = gzipped ? source.pipe(createGunzip({ chunkSize: CHUNK_BYTES })) : source;
  source.on('error', (error) => content.destroy(error));
  let isFirst = true;
  let blankBytes = 0;
  try {
    for await (const chunk of content as AsyncIterable<Buffer>) {
      signal?.throwIfAborted();
      blankBytes = chunk.every(isBlank) ? blankBytes + chunk.length : 0;
      if (blankBytes > BLANK_BYTES_MAX) throw tooManyBlanks(file, lineNow());
      const nul = chunk.indexOf(0);
      if (nul >= 0) throw notText(file, lineNow() + linesIn(chunk, nul));
      const isMarked = isFirst && chunk.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
      yield isMarked ? chunk.subarray(BYTE_ORDER_MARK.length) : chunk;
      isFirst = false;
    }
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    if (cause instanceof WorkloadError) throw cause;
    throw gzipped ? brokenGzip(file, lineNow(), cause) : unreadable(file, cause);
  } finally {
    source.destroy();
  }
}

/** Returns the number of line ends before an offset. */
function linesIn(bytes: Buffer, end: number): number {
  let lines = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0 && at < end; at = bytes.indexOf(NEWLINE, at + 1)) lines++;
  return lines;
}

/** More consecutive blanks are damage, and would take long to skip. */
const BLANK_BYTES_MAX = 16 * 1024 * 1024;

function isBlank(byte: number): boolean {
  return byte === 32 || (byte >= 9 && byte <= 13);
}

function tooManyBlanks(file: string, line: number): WorkloadError {
  return new WorkloadError(
    `the file has more than ${BLANK_BYTES_MAX / 1024 / 1024} MiB of consecutive blanks`,
    'check that this is a trace',
    { file, line },
  );
}

/** Crashed machines, cut copies and UTF-16 leave such bytes, which some readers would take for blanks. */
function notText(file: string, line: number): WorkloadError {
  return new WorkloadError(
    'the line contains a NUL byte, so the file is damaged or not text',
    'copy or export it again; UTF-16 text: iconv -f UTF-16 -t UTF-8 FILE',
    { file, line },
  );
}

/**
 * Reads a file in chunks of whole lines with their line ends, including an unterminated last line.
 *
 * @param linesRead number of lines in earlier chunks, for errors
 */
export async function* readWholeLines(
  file: string,
  linesRead: () => number,
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  for await (const chunk of readChunks(file, () => linesRead() + 1, signal)) {
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    if (end > 0) {
      const lines = chunk.subarray(0, end);
      yield pendingBytes === 0 ? lines : Buffer.concat([...pending, lines]);
      pending = [];
      pendingBytes = 0;
    }
    if (end === chunk.length) continue;
    pending.push(chunk.subarray(end));
    pendingBytes += chunk.length - end;
    if (pendingBytes > LINE_BYTES_MAX) {
      throw new WorkloadError(
        `the line is longer than ${LINE_BYTES_MAX / 1024 / 1024} MiB`,
        'check that this is a text file with one job per line',
        { file, line: linesRead() + 1 },
      );
    }
  }
  if (pendingBytes > 0) yield Buffer.concat([...pending, Buffer.of(NEWLINE)]);
}

/**
 * Lines of a text file in batches, because a turn of the event loop per line would be slow. Without line feeds;
 * carriage returns are kept.
 */
export async function* readLineBatches(file: string, signal?: AbortSignal): AsyncGenerator<string[]> {
  let lines = 0;
  for await (const bytes of readWholeLines(file, () => lines, signal)) {
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

/** The part of a file that identifies its format: the first non-blank line and the text after it. */
interface Beginning {
  readonly text: string;
  /** 1-based line number of `text`. */
  readonly line: number;
  /** About `HEAD_BYTES` from the start of that line. */
  readonly head: string;
}

const HEAD_BYTES = 64 * 1024;
/** Returns undefined for a blank file. */
export async function beginningOf(file: string): Promise<Beginning | undefined> {
  let line = 1;
  let head = Buffer.alloc(0);
  for await (const chunk of readChunks(file, () => line)) {
    if (head.length === 0 && chunk.every(isBlank)) {
      line += linesIn(chunk, chunk.length);
      continue;
    }
    head = Buffer.concat([head, chunk]);
    for (let end = head.indexOf(NEWLINE); end >= 0; end = head.indexOf(NEWLINE)) {
      if (head.toString('utf8', 0, end).trim() !== '') break;
      head = head.subarray(end + 1);
      line++;
    }
    if (head.length >= HEAD_BYTES) break;
  }
  const text = head.toString('utf8');
  if (text.trim() === '') return undefined;
  return { text: text.split('\n', 1)[0]!, line, head: text };
}

/** Maximum size of JSON and XML documents that are read at once. */
export const DOCUMENT_BYTES_MAX = 64 * 1024 * 1024;

/** Reads a text file. @throws WorkloadError if it is too large; the signal's reason */
export async function readDocument(file: string, signal?: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let line = 1;
  for await (const chunk of readChunks(file, () => line, signal)) {
    line += linesIn(chunk, chunk.length);
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > DOCUMENT_BYTES_MAX) throw tooLarge(file);
  }
  return Buffer.concat(chunks).toString('utf8');
}

export function tooLarge(file: string, line?: number): WorkloadError {
  return new WorkloadError(
    `the document is larger than ${DOCUMENT_BYTES_MAX / 1024 / 1024} MiB, or has too many values for memory`,
    'use part of it, or convert it to CSV, which is read row by row',
    { file, line },
  );
}

/**
 * Creates the error for a trace without jobs.
 *
 * @param advice describes a job
 * @param tallied reasons why the contents are not jobs
 */
export function emptyTrace(file: string, advice: string, tallied: readonly Tallied[] = []): WorkloadError {
  const why = tallied.map(({ count, what }) => `${count} ${what}`).join(', ');
  return new WorkloadError(
    why === '' ? 'the trace is empty' : `the trace contains no usable job (${why})`,
    advice,
    { file },
  );
}

const LFS_POINTER = 'version https://git-lfs';

/** First bytes of files that must be converted first, and how. */
const UNSUPPORTED_FORMATS: readonly (readonly [magic: readonly number[], is: string, convert: string])[] = [
  [[0x28, 0xb5, 0x2f, 0xfd], 'compressed with zstd', 'decompress it first: zstd -d FILE, or gzip it'],
  [[0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00], 'compressed with xz', 'decompress it first: xz -d FILE, or gzip it'],
  [[0x42, 0x5a, 0x68], 'compressed with bzip2', 'decompress it first: bzip2 -d FILE, or gzip it'],
  [[0x50, 0x4b, 0x03, 0x04], 'a zip archive', 'extract it first: unzip FILE'],
  [[0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c], 'a 7z archive', 'extract it first: 7z x FILE'],
  [[0x04, 0x22, 0x4d, 0x18], 'compressed with lz4', 'decompress it first: lz4 -d FILE, or gzip it'],
  [[0xff, 0xfe], 'UTF-16 text', 'convert it first: iconv -f UTF-16 -t UTF-8 FILE'],
  [[0xfe, 0xff], 'UTF-16 text', 'convert it first: iconv -f UTF-16 -t UTF-8 FILE'],
  [[0x50, 0x41, 0x52, 0x31], 'a Parquet file', 'convert it to CSV first'],
  [[...Buffer.from(LFS_POINTER)], 'a pointer to a file in Git LFS', 'download the file itself: git lfs pull'],
];
const MAGIC_BYTES = LFS_POINTER.length;

/** @throws WorkloadError for a file with another compression or encoding */
async function isGzipped(file: string): Promise<boolean> {
  const handle = await orUnreadable(file, open(file));
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAGIC_BYTES), 0, MAGIC_BYTES, 0);
    const first = buffer.subarray(0, bytesRead);
    const begins = (magic: readonly number[]): boolean =>
      bytesRead >= magic.length && magic.every((byte, place) => first[place] === byte);
    for (const [magic, is, convert] of UNSUPPORTED_FORMATS)
      if (begins(magic)) throw new WorkloadError(`the file is ${is}`, convert, { file });
    return begins([0x1f, 0x8b]);
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

/** @throws WorkloadError if it does not exist or is not readable */
export async function isFolder(path: string): Promise<boolean> {
  return (await orUnreadable(path, stat(path))).isDirectory();
}

/** Returns the sorted names in a folder. */
export async function namesIn(folder: string): Promise<string[]> {
  return (await orUnreadable(folder, readdir(folder))).sort();
}

/** Rejects paths that are not regular files. Opening a pipe would wait for a writer, and its data can be read only once. */
async function checkFile(path: string): Promise<void> {
  const found = await orUnreadable(path, stat(path));
  if (found.isDirectory())
    throw new WorkloadError('this is a folder', 'use one of the trace files in it', { file: path });
  if (!found.isFile())
    throw new WorkloadError('this is a pipe or a device', 'write its data to a file first', { file: path });
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
