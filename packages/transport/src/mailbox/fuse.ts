import { subscribe } from 'node:diagnostics_channel';
import { openSync, readSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';
import type { Worker } from 'node:worker_threads';
import type { Millis } from '@goshawk/core';

const MEBI = 1024 * 1024;
/** Received bytes without a pending message above which a peer must be sending without end: 16 frames of maximum size. */
const GATHERED_MAX = 256 * MEBI;
/** The same within a minute of the last time, when somebody is at it: 4 of them. */
const GATHERED_AGAIN_MAX = 64 * MEBI;
/** Time constant for forgetting received bytes; slower growth is caught by the next limit. */
const FORGET_MS = 5_000;
/** A process that looks so much later than it should was busy, and may have had and given back anything meanwhile. */
const BUSY_MS = 200;
/** Beyond so much in any case. */
const UNREAD_MAX = 1_024 * MEBI;
/** 64 bytes of a part of one byte are some 300 of the heap once it is read, and the heap has other things to hold. */
const HEAP_OF_GATHERED = 6;
/** Check intervals while memory grows, in which an endless sender adds some 30 MB, and while it does not. */
const LOOK_MS = 50;
const QUIET_LOOK_MS = 250;
const GROWTH_MIN = MEBI;
/** The door stays shut until what was cut is freed, and twice as long each time when it happens again within a minute. */
const SHUT_MS = 200;
const SHUT_MAX_MS = 5_000;
const AGAIN_MS = 60_000;

export interface Memory {
  /** Anonymous resident memory of this process. Bytes. */
  readonly resident: number;
  /** Memory that JavaScript accounts for, resident or not. Bytes. */
  readonly accounted: number;
}

/**
 * Tells when the connections of this process take memory without end.
 *
 * ZeroMQ bounds the frames that wait to be read and the bytes of each part of one, but not the parts: what it gathers of
 * a frame that never ends is nowhere to be seen but in the memory of the process. With keys the mark of a part is
 * encrypted, so that nobody in front could see it either.
 */
export class Fuse {
  #base: number | undefined;
  /** Memory that JavaScript has freed but that stays resident for a while. */
  #explained = 0;
  /** Bytes received recently while no message was pending. */
  #gathered = 0;
  #last: (Memory & { readonly isIdle: boolean; readonly at: Millis }) | undefined;
  #blewAt: Millis = Number.NEGATIVE_INFINITY;
  #shutMs = SHUT_MS;
  #pauseMs = LOOK_MS;
  readonly #gatheredMax: number;
  readonly #unreadMax: number;

  /** @param heapMax to how much the heap of this process may grow. Bytes. */
  constructor(heapMax: number) {
    this.#gatheredMax = Math.min(GATHERED_MAX, heapMax / HEAP_OF_GATHERED);
    this.#unreadMax = Math.min(UNREAD_MAX, heapMax);
  }

  /** For how long to look at nothing: an idle process is woken by little else. */
  get pauseMs(): Millis {
    return this.#pauseMs;
  }

  /**
   * @param isIdle whether all frames that have come in whole have been read
   * @returns for how long the connections are to be cut; undefined: they are not
   */
  look(memory: Memory, isIdle: boolean, now: Millis): Millis | undefined {
    const { resident, accounted } = memory;
    this.#gather(memory, isIdle, now);
    this.#base ??= resident - accounted;
    this.#explained = Math.max(accounted, Math.min(this.#explained, resident - this.#base));
    const isAgain = now - this.#blewAt < AGAIN_MS;
    const gatheredMax = isAgain ? Math.min(GATHERED_AGAIN_MAX, this.#gatheredMax) : this.#gatheredMax;
    const unread = resident - this.#base - this.#explained;
    if (this.#gathered < gatheredMax && unread < this.#unreadMax) return undefined;
    this.#shutMs = isAgain ? Math.min(2 * this.#shutMs, SHUT_MAX_MS) : SHUT_MS;
    this.#blewAt = now;
    return this.#shutMs;
  }

  /** The connections were cut: what is resident all the same is not theirs. */
  settled({ resident, accounted }: Memory): void {
    this.#base = resident - accounted;
    this.#explained = accounted;
    this.#gathered = 0;
    this.#last = undefined;
  }

  #gather({ resident, accounted }: Memory, isIdle: boolean, now: Millis): void {
    const last = this.#last;
    this.#last = { resident, accounted, isIdle, at: now };
    if (last === undefined) return;
    const came = resident - last.resident - Math.max(0, accounted - last.accounted);
    const wasBusy = now - last.at > this.#pauseMs + BUSY_MS;
    this.#pauseMs = came > GROWTH_MIN ? LOOK_MS : QUIET_LOOK_MS;
    this.#gathered *= Math.exp((last.at - now) / FORGET_MS);
    if (!isIdle || !last.isIdle || wasBusy) return;
    this.#gathered = Math.max(0, this.#gathered + came);
  }
}

/** The memory of this process, as a function that costs few microseconds; undefined where only Linux could tell. */
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

/** To how much the heap of this process may grow, as it was started. Bytes. */
export function heapMax(): number {
  return getHeapStatistics().heap_size_limit;
}

let threads: number | undefined;

/** How many threads this process has started that have not ended, since this was first asked. */
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
