import type { AttemptNumber, JobNumber, LogPage, OutputChunk, TaskIndex } from '@goshawk/core';
import { Page } from './heap-bytes.js';
import { letGo } from './memory-shares.js';

interface Logged {
  readonly task: TaskIndex;
  readonly attempt: AttemptNumber;
  readonly stream: 'stdout' | 'stderr';
  readonly bytes: Uint8Array;
}

/** What a chunk takes beside its bytes. */
const CHUNK_BYTES = 200;

/** Down to which it is emptied when it is full. */
const ROOM_SHARE = 0.9;

interface JobLog {
  readonly job: JobNumber;
  readonly user: string | undefined;
  readonly chunks: Logged[];
  /** Chunks that were dropped from the front. */
  dropped: number;
  bytes: number;
}

/**
 * What tasks printed, by job, within a bound over all jobs. Where that is reached, it is the output of the users who
 * hold most that goes: of each the oldest jobs' first, and of a job its oldest chunks.
 */
export class TaskLogs {
  readonly #logs = new Map<number, JobLog>();
  /** How many chunks there were of jobs of which nothing is left: cursors go on from there. */
  readonly #emptied = new Map<number, number>();
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  append(
    job: JobNumber,
    user: string | undefined,
    task: TaskIndex,
    attempt: AttemptNumber,
    chunk: OutputChunk,
  ): void {
    let log = this.#logs.get(job);
    if (log === undefined) {
      log = { job, user, chunks: [], dropped: this.#emptied.get(job) ?? 0, bytes: 0 };
      this.#logs.set(job, log);
      this.#emptied.delete(job);
    }
    log.chunks.push({ task, attempt, stream: chunk.stream, bytes: chunk.bytes });
    const bytes = CHUNK_BYTES + chunk.bytes.length;
    log.bytes += bytes;
    this.#bytes += bytes;
    if (this.#bytes > this.#bytesMax) this.#makeRoom();
  }

  forget(job: JobNumber): void {
    this.#emptied.delete(job);
    const log = this.#logs.get(job);
    if (log === undefined) return;
    this.#bytes -= log.bytes;
    this.#logs.delete(job);
  }

  /** @param wanted says of which tasks */
  read(job: JobNumber, cursor: number, wanted: (task: TaskIndex) => boolean, ended: boolean): LogPage {
    const log = this.#logs.get(job);
    if (log === undefined) {
      const emptied = this.#emptied.get(job) ?? 0;
      const next = Math.max(cursor, emptied);
      return { chunks: [], next, atEnd: true, done: ended, dropped: cursor < emptied };
    }
    const page = new Page<Logged>();
    let next = Math.max(cursor, log.dropped);
    for (; next - log.dropped < log.chunks.length; next++) {
      const chunk = log.chunks[next - log.dropped]!;
      if (wanted(chunk.task) && !page.take(chunk)) break;
    }
    const atEnd = next - log.dropped >= log.chunks.length;
    return { chunks: page.items, next, atEnd, done: ended && atEnd, dropped: cursor < log.dropped };
  }

  #makeRoom(): void {
    letGo(this.#logs.values(), this.#bytes - ROOM_SHARE * this.#bytesMax, (log, excess) =>
      this.#shorten(log, excess),
    );
  }

  /** Drops the oldest chunks, by halves, until about `excess` is gone. @returns how many bytes are */
  #shorten(log: JobLog, excess: number): number {
    const before = log.bytes;
    while (before - log.bytes < excess && log.chunks.length > 0) {
      const half = Math.max(1, log.chunks.length >> 1);
      for (const { bytes } of log.chunks.splice(0, half)) log.bytes -= CHUNK_BYTES + bytes.length;
      log.dropped += half;
    }
    const gone = before - log.bytes;
    this.#bytes -= gone;
    if (log.chunks.length === 0) {
      this.#logs.delete(log.job);
      this.#emptied.set(log.job, log.dropped);
    }
    return gone;
  }
}
