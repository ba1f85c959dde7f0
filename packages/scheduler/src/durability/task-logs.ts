import {
  type AttemptNumber,
  Deque,
  firstIndex,
  type JobNumber,
  type LogPage,
  type OutputChunk,
  type OutputStore,
  type StoredOutput,
  setLatest,
  type TaskIndex,
} from '@goshawk/core';
import { Page } from '../job/heap-bytes.js';
import { evictFairly } from './memory-shares.js';

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
/** Pages of stored output that are searched for the last lines of failed tasks: a few milliseconds. */
const PAGES_SEARCHED_MAX = 16;
/** Jobs whose last lines, found in stored output, are kept. */
const SEARCHED_JOBS_MAX = 64;
const STREAMS = ['stdout', 'stderr'] as const;

interface JobLog {
  readonly job: JobNumber;
  readonly user: string | undefined;
  /** In order of `number`, with gaps where chunks were dropped. */
  chunks: StoredOutput[];
  nextNumber: number;
  /** Number of the first chunk from which on none was dropped. */
  completeFrom: number;
  bytes: number;
  /** Bytes received from each running attempt. */
  readonly received: Map<TaskIndex, { readonly attempt: AttemptNumber; readonly bytes: number }>;
}

/**
 * Task output by job, with one size limit for all jobs. Above the limit, output of the users with the most
 * output is dropped from memory: oldest jobs first, and oldest chunks within a job. The last bytes of failed tasks are
 * dropped last. What is no longer in memory is read from the store, if there is one.
 */
export class TaskLogs {
  readonly #logs = new Map<number, JobLog>();
  /** The next chunk number of jobs without remaining output, so that cursors stay valid. */
  readonly #nextNumbers = new Map<number, number>();
  readonly #bytesMax: number;
  readonly #hasFailed: (job: JobNumber, task: TaskIndex) => boolean;
  readonly #lastFormerJob: JobNumber;
  readonly #store: OutputStore | undefined;
  /** Last lines from the store, by job and task; undefined: the task has none. */
  readonly #storedLines = new Map<number, Map<TaskIndex, Uint8Array | undefined>>();
  #appended = 0;
  readonly #untilStored = new Deque<{ readonly after: number; readonly act: () => void }>();
  #bytes = 0;

  /** @param lastFormerJob highest job number of earlier incarnations, whose readers have higher cursors than new jobs */
  constructor(
    bytesMax: number,
    hasFailed: (job: JobNumber, task: TaskIndex) => boolean,
    lastFormerJob: JobNumber = 0,
    store?: OutputStore,
  ) {
    this.#store = store;
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
   * @param at when it arrived. Wall clock, ms since 1970
   * @param offset bytes that the attempt printed before, on both streams; default: those received
   */
  append(
    job: JobNumber,
    user: string | undefined,
    task: TaskIndex,
    attempt: AttemptNumber,
    chunk: OutputChunk,
    at: number,
    offset?: number,
  ): void {
    const log = this.#logs.get(job) ?? this.#newLog(job, user);
    const received = receivedBytes(log, task, attempt);
    const repeated = Math.max(0, received - (offset ?? received));
    if (repeated > 0 && repeated >= chunk.bytes.length) return;
    const bytes = chunk.bytes.subarray(repeated);
    const from = Math.max(received, offset ?? received);
    log.received.set(task, { attempt, bytes: from + bytes.length });
    const { stream } = chunk;
    const appended = {
      number: log.nextNumber++,
      task,
      attempt,
      stream,
      bytes,
      offset: from,
      at: Math.round(at),
    };
    log.chunks.push(appended);
    if (this.#store !== undefined) {
      this.#appended++;
      this.#store.append(job, user, appended);
    }
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
   * @param at now. Wall clock, ms since 1970
   */
  ended(
    job: JobNumber,
    user: string | undefined,
    task: TaskIndex,
    attempt: AttemptNumber,
    printed: number,
    at: number,
  ): void {
    const log = this.#logs.get(job);
    const received = log === undefined ? 0 : receivedBytes(log, task, attempt);
    if (printed > received)
      this.append(job, user, task, attempt, { stream: 'stdout', bytes: NO_BYTES }, at, printed);
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

  /** A job of an earlier incarnation. Output that it printed then is stored, or is lost. */
  restored(
    job: JobNumber,
    user: string | undefined,
    { hasRun, acceptedAt }: { readonly hasRun: boolean; readonly acceptedAt: number },
  ): void {
    this.#store?.restored(job, user);
    const isStored = this.#store?.has(job) ?? false;
    const mayBeLost = hasRun && acceptedAt < (this.#store?.since ?? Number.POSITIVE_INFINITY);
    if ((isStored || mayBeLost) && !this.#logs.has(job)) this.#nextNumbers.set(job, this.#firstNumberOf(job));
  }

  allRestored(): void {
    this.#store?.allRestored();
  }

  /** Whether output of this job may repeat what an earlier incarnation did not store. */
  mayBeLate(job: JobNumber): boolean {
    return this.#store !== undefined && job <= this.#lastFormerJob;
  }

  /** Runs the action once all output so far is stored; immediately without a store. */
  whenStored(act: () => void): void {
    if (this.#store === undefined || this.#store.settled >= this.#appended) act();
    else this.#untilStored.push({ after: this.#appended, act });
  }

  storeSettled(): void {
    const settled = this.#store?.settled ?? 0;
    while (this.#untilStored.length > 0 && this.#untilStored.at(0)!.after <= settled)
      this.#untilStored.shift()!.act();
  }

  delete(job: JobNumber): void {
    this.#store?.delete(job);
    this.#storedLines.delete(job);
    this.#nextNumbers.delete(job);
    const log = this.#logs.get(job);
    if (log === undefined) return;
    this.#bytes -= log.bytes;
    this.#logs.delete(job);
  }

  /**
   * @param wanted selects tasks
   * @param attemptOf returns the only attempt of a task whose output to return; default: all
   * @returns undefined if stored output has to be fetched first: ask again
   */
  read(
    job: JobNumber,
    cursor: number,
    wanted: (task: TaskIndex) => boolean,
    ended: boolean,
    attemptOf?: (task: TaskIndex) => AttemptNumber,
  ): LogPage | undefined {
    const log = this.#logs.get(job);
    const inMemoryFrom = log?.completeFrom ?? this.#nextNumbers.get(job) ?? 0;
    let dropped = cursor < inMemoryFrom;
    let whyDropped = dropped ? this.#whyDropped(job) : undefined;
    if (dropped && this.#store?.has(job) === true) {
      const stored = this.#store.read(job, cursor);
      if (stored === undefined) return undefined;
      const { chunks, gone, next = inMemoryFrom } = stored;
      dropped = gone !== undefined && cursor < gone.before;
      whyDropped = dropped ? gone!.why : undefined;
      if (chunks.length > 0) {
        const part = takeChunks(chunks, 0, wanted, attemptOf);
        const unread = chunks[part.index]?.number ?? Math.max(next, chunks.at(-1)!.number + 1);
        return { ...part.page, next: unread, atEnd: false, done: false, dropped, whyDropped };
      }
    }
    if (log === undefined) {
      const next = Math.max(cursor, this.#firstNumberOf(job));
      return { chunks: [], next, atEnd: true, done: ended, dropped, whyDropped, hasEarlier: undefined };
    }
    const { page, index } = takeChunks(log.chunks, indexOf(log.chunks, cursor), wanted, attemptOf);
    const next = Math.max(cursor, log.chunks[index]?.number ?? log.nextNumber);
    const atEnd = index >= log.chunks.length;
    return { ...page, next, atEnd, done: ended && atEnd, dropped, whyDropped };
  }

  #whyDropped(job: JobNumber): string {
    return job <= this.#lastFormerJob
      ? 'its scheduler restarted, and what was printed before was not stored'
      : 'its scheduler stores no output without a data folder, and drops the oldest from memory';
  }

  /**
   * The last lines of these tasks' output, stdout before stderr, from the last attempt with output.
   *
   * @returns undefined if stored output has to be fetched first: ask again
   */
  lastLines(job: JobNumber, tasks: readonly TaskIndex[]): Map<TaskIndex, Uint8Array> | undefined {
    const log = this.#logs.get(job);
    const lines = lastLinesIn(log?.chunks ?? [], tasks);
    const inMemoryFrom = log?.completeFrom ?? this.#nextNumbers.get(job) ?? 0;
    if (inMemoryFrom === 0 || this.#store?.has(job) !== true) return lines;
    const known = this.#storedLines.get(job) ?? new Map<TaskIndex, Uint8Array | undefined>();
    const unknown = tasks.filter((task) => !lines.has(task) && !known.has(task));
    if (unknown.length > 0) {
      const found = this.#searchStore(job, unknown);
      if (found === undefined) return undefined;
      for (const task of unknown) known.set(task, found.get(task));
      setLatest(this.#storedLines, job, known, SEARCHED_JOBS_MAX);
    }
    for (const task of tasks) {
      const stored = known.get(task);
      if (stored !== undefined && !lines.has(task)) lines.set(task, stored);
    }
    return lines;
  }

  #searchStore(job: JobNumber, tasks: readonly TaskIndex[]): Map<TaskIndex, Uint8Array> | undefined {
    const wanted = new Set(tasks);
    const chunks: StoredOutput[] = [];
    let from: number | undefined = 0;
    for (let left = PAGES_SEARCHED_MAX; from !== undefined && left > 0; left--) {
      const page = this.#store!.read(job, from);
      if (page === undefined) return undefined;
      for (const chunk of page.chunks) if (wanted.has(chunk.task)) chunks.push(chunk);
      from = page.next;
    }
    return lastLinesIn(chunks, tasks);
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
    const kept: StoredOutput[] = [];
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

/** Takes the wanted chunks that fit into one answer. @returns the index after the last one that was considered */
function takeChunks(
  chunks: readonly StoredOutput[],
  from: number,
  wanted: (task: TaskIndex) => boolean,
  attemptOf?: (task: TaskIndex) => AttemptNumber,
): { readonly page: Pick<LogPage, 'chunks' | 'hasEarlier'>; readonly index: number } {
  const page = new Page<LogPage['chunks'][number]>();
  let hasEarlier: boolean | undefined;
  let index = from;
  for (; index < chunks.length; index++) {
    const { number: _, ...chunk } = chunks[index]!;
    if (!wanted(chunk.task)) continue;
    const only = attemptOf?.(chunk.task) ?? chunk.attempt;
    if (chunk.attempt < only) hasEarlier = true;
    if (chunk.attempt === only && !page.take(chunk)) break;
  }
  return { page: { chunks: page.items, hasEarlier }, index };
}

function lastLinesIn(
  chunks: readonly StoredOutput[],
  tasks: readonly TaskIndex[],
): Map<TaskIndex, Uint8Array> {
  const lines = new Map<TaskIndex, Uint8Array>();
  if (tasks.length === 0) return lines;
  const wanted = new Set(tasks);
  for (const [task, last] of outputEnds(chunks, (task) => wanted.has(task))) {
    const ends = STREAMS.map((stream) => lastLinesOf(concatenated(last.parts[stream]), LAST_LINES[stream]));
    lines.set(task, concatenated(ends.filter(({ length }) => length > 0)));
  }
  return lines;
}

function receivedBytes({ received }: JobLog, task: TaskIndex, attempt: AttemptNumber): number {
  const of = received.get(task);
  return of?.attempt === attempt ? of.bytes : 0;
}

/** Returns the index of the first chunk with at least this number. */
function indexOf(chunks: readonly StoredOutput[], at: number): number {
  return firstIndex(chunks.length, (index) => chunks[index]!.number >= at);
}

/** The end of one task's output. */
interface OutputEnd {
  readonly attempt: AttemptNumber;
  /** Output from this offset on is included; an earlier incarnation may have received it, too. */
  from: number;
  readonly bytesLeft: Record<'stdout' | 'stderr', number>;
  /** In order. */
  readonly parts: Record<'stdout' | 'stderr', Uint8Array[]>;
}

/** @param took called with each chunk that contributes to the last bytes */
function outputEnds(
  chunks: readonly StoredOutput[],
  wanted: (task: TaskIndex) => boolean,
  took?: (chunk: StoredOutput, bytes: Uint8Array) => void,
): Map<TaskIndex, OutputEnd> {
  const lasts = new Map<TaskIndex, OutputEnd>();
  for (let index = chunks.length - 1; index >= 0; index--) {
    const chunk = chunks[index]!;
    let last = lasts.get(chunk.task);
    if (last === undefined) {
      if (!wanted(chunk.task)) continue;
      const left = { stdout: LAST_BYTES, stderr: LAST_BYTES };
      last = {
        ...{ attempt: chunk.attempt, from: Number.POSITIVE_INFINITY },
        ...{ bytesLeft: left, parts: { stdout: [], stderr: [] } },
      };
      lasts.set(chunk.task, last);
    }
    const left = last.bytesLeft[chunk.stream];
    if (chunk.attempt !== last.attempt) continue;
    const fresh = chunk.bytes.subarray(0, Math.max(0, last.from - chunk.offset));
    last.from = Math.min(last.from, chunk.offset);
    if (left === 0) continue;
    const bytes = fresh.length <= left ? fresh : fresh.slice(-left);
    last.bytesLeft[chunk.stream] -= bytes.length;
    last.parts[chunk.stream].unshift(bytes);
    took?.(chunk, bytes);
  }
  return lasts;
}

/** The last bytes of these tasks' output, by chunk number. */
function lastBytesByChunk(
  chunks: readonly StoredOutput[],
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
