import { subscribe } from 'node:diagnostics_channel';
import { openSync, readSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';
import type { Worker } from 'node:worker_threads';
import type { Millis } from '@goshawk/core';

const MEBI = 1024 * 1024;
/** Received bytes without a complete message above which a message counts as endless: 16 frames of maximum size. */
const INCOMPLETE_BYTES_MAX = 256 * MEBI;
/** `INCOMPLETE_BYTES_MAX` within a minute of the last cut, when an attack is likely: 4 frames. */
const INCOMPLETE_BYTES_MAX_AFTER_CUT = 64 * MEBI;
/** Time constant in ms with which the count of received bytes decays; `UNREAD_MAX` detects slower growth. */
const DECAY_MS = 5_000;
/**
 * A check that is later than this, in ms, shows that the process was busy, so its memory may have changed by any
 * amount.
 */
const BUSY_MS = 200;
/** Absolute limit of unread bytes. */
const UNREAD_MAX = 1_024 * MEBI;
/** Heap size to allow per received byte: a part of one byte takes 64 bytes unread, and 300 bytes of heap when read. */
const HEAP_PER_INCOMPLETE_BYTE = 6;
/** Check intervals in ms while memory grows (an endless sender adds 30 MB in one), and while it does not. */
const CHECK_MS = 50;
const IDLE_CHECK_MS = 250;
const GROWTH_MIN = MEBI;
/**
 * Time in ms for which connections stay closed, so that memory is freed. Each cut within a minute of the last doubles
 * it.
 */
const CUT_MS = 200;
const CUT_MAX_MS = 5_000;
const RECENT_CUT_MS = 60_000;

export interface Memory {
  /** Anonymous resident memory of this process in bytes. */
  readonly resident: number;
  /** Memory in bytes that V8 accounts for, resident or not. */
  readonly accounted: number;
}

/**
 * Detects that inbound connections use too much memory.
 *
 * ZeroMQ limits the number of unread frames and the size of each part, but not the number of parts: an endless
 * multipart message is visible only in the memory of the process. With keys the marker of a part is encrypted, so a
 * proxy could not see it either.
 */
export class MemoryBreaker {
  #base: number | undefined;
  /** Resident memory due to V8, including memory that it has freed but the system still counts. */
  #engineBytes = 0;
  /** Bytes received recently without a complete message. */
  #incompleteBytes = 0;
  #last: (Memory & { readonly isIdle: boolean; readonly at: Millis }) | undefined;
  #trippedAt: Millis = Number.NEGATIVE_INFINITY;
  #shutMs = CUT_MS;
  #pauseMs = CHECK_MS;
  readonly #gatheredMax: number;
  readonly #unreadMax: number;

  /** @param heapMax maximum heap of this process in bytes */
  constructor(heapMax: number) {
    this.#gatheredMax = Math.min(INCOMPLETE_BYTES_MAX, heapMax / HEAP_PER_INCOMPLETE_BYTE);
    this.#unreadMax = Math.min(UNREAD_MAX, heapMax);
  }

  /** Time until the next check; longer when idle, to avoid wake-ups. */
  get pauseMs(): Millis {
    return this.#pauseMs;
  }

  /**
   * Checks the memory.
   * @param isIdle whether all complete frames have been read
   * @returns how long to keep connections closed; undefined: no cut is needed
   */
  check(memory: Memory, isIdle: boolean, now: Millis): Millis | undefined {
    const { resident, accounted } = memory;
    this.#measure(memory, isIdle, now);
    this.#base ??= resident - accounted;
    this.#engineBytes = Math.max(accounted, Math.min(this.#engineBytes, resident - this.#base));
    const isAgain = now - this.#trippedAt < RECENT_CUT_MS;
    const gatheredMax = isAgain
      ? Math.min(INCOMPLETE_BYTES_MAX_AFTER_CUT, this.#gatheredMax)
      : this.#gatheredMax;
    const unread = resident - this.#base - this.#engineBytes;
    if (this.#incompleteBytes < gatheredMax && unread < this.#unreadMax) return undefined;
    this.#shutMs = isAgain ? Math.min(2 * this.#shutMs, CUT_MAX_MS) : CUT_MS;
    this.#trippedAt = now;
    return this.#shutMs;
  }

  /** Records that all connections were closed, so that the remaining memory is not theirs. */
  reset({ resident, accounted }: Memory): void {
    this.#base = resident - accounted;
    this.#engineBytes = accounted;
    this.#incompleteBytes = 0;
    this.#last = undefined;
  }

  #measure({ resident, accounted }: Memory, isIdle: boolean, now: Millis): void {
    const last = this.#last;
    this.#last = { resident, accounted, isIdle, at: now };
    if (last === undefined) return;
    const grown = resident - last.resident - Math.max(0, accounted - last.accounted);
    const wasBusy = now - last.at > this.#pauseMs + BUSY_MS;
    this.#pauseMs = grown > GROWTH_MIN ? CHECK_MS : IDLE_CHECK_MS;
    this.#incompleteBytes *= Math.exp((last.at - now) / DECAY_MS);
    if (!isIdle || !last.isIdle || wasBusy) return;
    this.#incompleteBytes = Math.max(0, this.#incompleteBytes + grown);
  }
}

/** Returns a function that reads the memory of this process in a few microseconds; undefined except on Linux. */
export function memoryReader(): (() => Memory) | undefined {
  let statm: number;
  const text = Buffer.alloc(128);
  try {
    statm = openSync('/proc/self/statm', 'r');
  } catch {
    return undefined;
  }
  const pages = (): readonly number[] =>
    text
      .toString('latin1', 0, readSync(statm, text, 0, text.length, 0))
      .split(' ')
      .map(Number);
  const pageBytes = 2 ** Math.round(Math.log2(process.memoryUsage.rss() / pages()[1]!));
  return () => {
    const { total_heap_size: heap, external_memory: external } = getHeapStatistics();
    const [, resident = 0, shared = 0] = pages();
    return { resident: (resident - shared) * pageBytes, accounted: heap + external };
  };
}

/** Returns the maximum heap of this process in bytes. */
export function heapMax(): number {
  return getHeapStatistics().heap_size_limit;
}

let threads: number | undefined;

/** Returns the number of live threads started by this process since the first call. */
export function threadsAlive(): number {
  if (threads === undefined) {
    threads = 0;
    subscribe('worker_threads', (message) => {
      threads!++;
      (message as { readonly worker: Worker }).worker.once('exit', () => {
        threads!--;
      });
    });
  }
  return threads;
}
