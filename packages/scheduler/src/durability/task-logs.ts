import type { AttemptNumber, JobNumber, LogPage, OutputChunk, TaskIndex } from '@goshawk/core';
import { Page } from '../job/heap-bytes.js';
import { evictFairly } from './memory-shares.js';

interface LoggedChunk {
  /** Number of the chunk within its job, used by readers' cursors. */
  readonly number: number;
  readonly task: TaskIndex;
  readonly attempt: AttemptNumber;
  readonly stream: 'stdout' | 'stderr';
  readonly bytes: Uint8Array;
  /** Bytes that the attempt printed before, on both streams. */
  readonly offset: number;
}

/** Overhead of a chunk besides its bytes. */
const CHUNK_BYTES = 200;

/** Numbers of chunks that an incarnation has for each job number that it may use. */
const CHUNKS_PER_JOB = 1_024;

/** Fraction of the size limit to which output shrinks when it exceeds the limit. */
const EVICTION_TARGET = 0.9;
/** Bytes at the end of each stream of a failed task that are dropped last. */
const LAST_BYTES = 2_000;
/** Lines at the end of each stream that explain a failure. */
const LAST_LINES = { stdout: 3, stderr: 5 } as const;
const NEWLINE = 0x0a;
const STREAMS = ['stdout', 'stderr'] as const;

interface JobLog {
  readonly job: JobNumber;
  readonly user: string | undefined;
  /** In order of `at`, with gaps where chunks were dropped. */
  chunks: LoggedChunk[];
  nextNumber: number;
  /** Number of the first chunk from which on none was dropped. */
  completeFrom: number;
  bytes: number;
  /** Bytes received from each running attempt. */
  readonly received: Map<TaskIndex, { readonly attempt: AttemptNumber; readonly bytes: number }>;
}

/**
 * Task output by job, with one size limit for all jobs. Above the limit, output of the users with the most
 * output is dropped: oldest jobs first, and oldest chunks within a job. The last bytes of failed tasks are
 * dropped last.
 */
export class TaskLogs {
  readonly #logs = new Map<number, JobLog>();
  /** The next chunk number of jobs without remaining output, so that cursors stay valid. */
  readonly #nextNumbers = new Map<number, number>();
  readonly #bytesMax: number;
  readonly #hasFailed: (job: JobNumber, task: TaskIndex) => boolean;
  readonly #lastFormerJob: JobNumber;
  #bytes = 0;

  /** @param lastFormerJob highest job number of earlier incarnations, whose readers have higher cursors than new jobs */
  constructor(
    bytesMax: number,
    hasFailed: (job: JobNumber, task: TaskIndex) => boolean,
    lastFormerJob: JobNumber = 0,
  ) {
    this.#bytesMax = bytesMax;
    this.#hasFailed = hasFailed;
    this.#lastFormerJob = lastFormerJob;
  }

  /** Returns the number of bytes, of both streams, up to which output of a running attempt has arrived. */
  receivedBytes(job: JobNumber, task: TaskIndex, attempt: AttemptNumber): number {
    const log = this.#logs.get(job);
    return log === undefined ? 0 : receivedBytes(log, task, attempt);
  }

  /**
   * Adds output, without the part that has arrived before.
   *
   * @param offset bytes that the attempt printed before, on both streams; default: those received
   */
  append(
    job: JobNumber,
    user: string | undefined,
    task: TaskIndex,
    attempt: AttemptNumber,
    chunk: OutputChunk,
    offset?: number,
  ): void {
    const log = this.#logs.get(job) ?? this.#newLog(job, user);
    const received = receivedBytes(log, task, attempt);
    const repeated = Math.max(0, received - (offset ?? received));
    if (repeated > 0 && repeated >= chunk.bytes.length) return;
    const bytes = chunk.bytes.subarray(repeated);
    const at = Math.max(received, offset ?? received);
    log.received.set(task, { attempt, bytes: at + bytes.length });
    log.chunks.push({ number: log.nextNumber++, task, attempt, stream: chunk.stream, bytes, offset: at });
    const added = CHUNK_BYTES + bytes.length;
    log.bytes += added;
    this.#bytes += added;
    if (this.#bytes > this.#bytesMax) this.#evict();
  }

  #newLog(job: JobNumber, user: string | undefined): JobLog {
    const at = this.#firstNumberOf(job);
    const completeFrom = this.#nextNumbers.has(job) ? at : 0;
    const log = { job, user, chunks: [], nextNumber: at, completeFrom, bytes: 0, received: new Map() };
    this.#logs.set(job, log);
    this.#nextNumbers.delete(job);
    return log;
  }

  /**
   * The number of a job's next chunk if none is stored. Numbers of earlier incarnations are lower, because job numbers
   * increase, so that a reader who continues after a restart misses nothing.
   */
  #firstNumberOf(job: JobNumber): number {
    const former = job <= this.#lastFormerJob ? this.#lastFormerJob * CHUNKS_PER_JOB : 0;
    return this.#nextNumbers.get(job) ?? former;
  }

  /** Whether no job has output. */
  get isEmpty(): boolean {
    return this.#logs.size === 0;
  }

  /**
   * An attempt has ended. If its last output did not arrive, an empty chunk tells readers so.
   *
   * @param printed bytes that it printed, on both streams
   */
  ended(
    job: JobNumber,
    user: string | undefined,
    task: TaskIndex,
    attempt: AttemptNumber,
    printed: number,
  ): void {
    const log = this.#logs.get(job);
    const received = log === undefined ? 0 : receivedBytes(log, task, attempt);
    if (printed > received)
      this.append(job, user, task, attempt, { stream: 'stdout', bytes: NO_BYTES }, printed);
    const now = this.#logs.get(job);
    now?.received.delete(task);
    if (now !== undefined) this.#deleteIfEmpty(now);
  }

  /** Logs without output stay while tasks run, because repeated output is recognized by what has arrived. */
  #deleteIfEmpty(log: JobLog): void {
    if (log.chunks.length > 0 || log.received.size > 0) return;
    this.#logs.delete(log.job);
    this.#nextNumbers.set(log.job, log.nextNumber);
  }

  /** An earlier incarnation ran tasks of the job: their output is lost. */
  lostBefore(job: JobNumber): void {
    if (!this.#logs.has(job)) this.#nextNumbers.set(job, this.#firstNumberOf(job));
  }

  delete(job: JobNumber): void {
    this.#nextNumbers.delete(job);
    const log = this.#logs.get(job);
    if (log === undefined) return;
    this.#bytes -= log.bytes;
    this.#logs.delete(job);
  }

  /**
   * @param wanted selects tasks
   * @param attemptOf returns the only attempt of a task whose output to return; default: all
   */
  read(
    job: JobNumber,
    cursor: number,
    wanted: (task: TaskIndex) => boolean,
    ended: boolean,
    attemptOf?: (task: TaskIndex) => AttemptNumber,
  ): LogPage {
    const log = this.#logs.get(job);
    if (log === undefined) {
      const next = Math.max(cursor, this.#firstNumberOf(job));
      const dropped = cursor < (this.#nextNumbers.get(job) ?? 0);
      return { chunks: [], next, atEnd: true, done: ended, dropped, hasEarlier: undefined };
    }
    const page = new Page<LogPage['chunks'][number]>();
    const { chunks } = log;
    let index = indexOf(chunks, cursor);
    let hasEarlier: boolean | undefined;
    for (; index < chunks.length; index++) {
      const { number: _, ...chunk } = chunks[index]!;
      if (!wanted(chunk.task)) continue;
      const only = attemptOf?.(chunk.task) ?? chunk.attempt;
      if (chunk.attempt < only) hasEarlier = true;
      if (chunk.attempt === only && !page.take(chunk)) break;
    }
    const next = Math.max(cursor, chunks[index]?.number ?? log.nextNumber);
    const atEnd = index >= chunks.length;
    const dropped = cursor < log.completeFrom;
    return { chunks: page.items, next, atEnd, done: ended && atEnd, dropped, hasEarlier };
  }

  /** The last lines of these tasks' output, stdout before stderr, from the last attempt with output. */
  lastLines(job: JobNumber, tasks: readonly TaskIndex[]): Map<TaskIndex, Uint8Array> {
    const lines = new Map<TaskIndex, Uint8Array>();
    const log = this.#logs.get(job);
    if (log === undefined || tasks.length === 0) return lines;
    const wanted = new Set(tasks);
    for (const [task, last] of outputEnds(log.chunks, (task) => wanted.has(task))) {
      const ends = STREAMS.map((stream) => lastLinesOf(concatenated(last.parts[stream]), LAST_LINES[stream]));
      lines.set(task, concatenated(ends.filter(({ length }) => length > 0)));
    }
    return lines;
  }

  #evict(): void {
    evictFairly(this.#logs.values(), this.#bytes - EVICTION_TARGET * this.#bytesMax, (log, excess) =>
      this.#dropChunks(log, excess),
    );
  }

  /** Drops the oldest chunks, at least half of them, until about `excess` is freed. @returns freed bytes */
  #dropChunks(log: JobLog, excess: number): number {
    const before = log.bytes;
    this.#dropOldest(
      log,
      excess,
      lastBytesByChunk(log.chunks, (task) => this.#hasFailed(log.job, task)),
    );
    if (before - log.bytes < excess) this.#dropOldest(log, excess - (before - log.bytes), new Map());
    const gone = before - log.bytes;
    this.#bytes -= gone;
    this.#deleteIfEmpty(log);
    return gone;
  }

  /** @param remains bytes to keep of chunks, by number */
  #dropOldest(log: JobLog, excess: number, remains: ReadonlyMap<number, Uint8Array>): void {
    const { chunks } = log;
    const enough = log.bytes - excess;
    const kept: LoggedChunk[] = [];
    let index = 0;
    for (; index < chunks.length && (index < chunks.length >> 1 || log.bytes > enough); index++) {
      const chunk = chunks[index]!;
      const bytes = remains.get(chunk.number);
      if (bytes === undefined) log.bytes -= CHUNK_BYTES + chunk.bytes.length;
      else {
        log.bytes -= chunk.bytes.length - bytes.length;
        kept.push({ ...chunk, bytes, offset: chunk.offset + chunk.bytes.length - bytes.length });
      }
      if (bytes?.length !== chunk.bytes.length)
        log.completeFrom = Math.max(log.completeFrom, chunk.number + 1);
    }
    log.chunks = [...kept, ...chunks.slice(index)];
  }
}

const NO_BYTES = new Uint8Array();

function receivedBytes({ received }: JobLog, task: TaskIndex, attempt: AttemptNumber): number {
  const of = received.get(task);
  return of?.attempt === attempt ? of.bytes : 0;
}

/** Returns the index of the first chunk with at least this number. */
function indexOf(chunks: readonly LoggedChunk[], at: number): number {
  let [low, high] = [0, chunks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (chunks[middle]!.number < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The end of one task's output. */
interface OutputEnd {
  readonly attempt: AttemptNumber;
  readonly bytesLeft: Record<'stdout' | 'stderr', number>;
  /** In order. */
  readonly parts: Record<'stdout' | 'stderr', Uint8Array[]>;
}

/** @param took called with each chunk that contributes to the last bytes */
function outputEnds(
  chunks: readonly LoggedChunk[],
  wanted: (task: TaskIndex) => boolean,
  took?: (chunk: LoggedChunk, bytes: Uint8Array) => void,
): Map<TaskIndex, OutputEnd> {
  const lasts = new Map<TaskIndex, OutputEnd>();
  for (let index = chunks.length - 1; index >= 0; index--) {
    const chunk = chunks[index]!;
    let last = lasts.get(chunk.task);
    if (last === undefined) {
      if (!wanted(chunk.task)) continue;
      const left = { stdout: LAST_BYTES, stderr: LAST_BYTES };
      last = { attempt: chunk.attempt, bytesLeft: left, parts: { stdout: [], stderr: [] } };
      lasts.set(chunk.task, last);
    }
    const left = last.bytesLeft[chunk.stream];
    if (chunk.attempt !== last.attempt || left === 0) continue;
    const bytes = chunk.bytes.length <= left ? chunk.bytes : chunk.bytes.slice(-left);
    last.bytesLeft[chunk.stream] -= bytes.length;
    last.parts[chunk.stream].unshift(bytes);
    took?.(chunk, bytes);
  }
  return lasts;
}

/** The last bytes of these tasks' output, by chunk number. */
function lastBytesByChunk(
  chunks: readonly LoggedChunk[],
  wanted: (task: TaskIndex) => boolean,
): Map<number, Uint8Array> {
  const kept = new Map<number, Uint8Array>();
  outputEnds(chunks, wanted, (chunk, bytes) => kept.set(chunk.number, bytes));
  return kept;
}

function lastLinesOf(bytes: Uint8Array, count: number): Uint8Array {
  let from = bytes.length;
  for (let lines = 0; lines < count && from > 0; lines++)
    from = from < 2 ? 0 : bytes.lastIndexOf(NEWLINE, from - 2) + 1;
  return bytes.subarray(from);
}

function concatenated(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}
