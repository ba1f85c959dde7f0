import type { MessageOf, Millis } from '@goshawk/core';
import type { Entry } from './entry.js';
import type { OutputBuffer } from './output-buffer.js';

/** Tiny tasks of one owner that run in a slot one after another: the end of each asks for the next. */
export interface Series {
  /** When its first task was given to the slot. */
  readonly since: Millis;
  /** The end of the last one. */
  readonly report: MessageOf<'ended'>;
}

/** What a slot does, as a number. */
export const SlotKind = { idle: 0, asking: 1, running: 2 } as const;

/** Marks of what runs in a slot. */
export const RUNS_LONG = 1;
/** Its owner is gone: it was told to end, and nobody will confirm that. */
export const IS_ORPHANED = 2;

/**
 * What the slots of all workers in a process do, as columns: one place a slot, those of a worker side by side. Of 15,000
 * workers in a simulation this fits into a processor's cache, which as many objects do not.
 */
export class SlotColumns {
  kinds = new Uint8Array(0);
  marks = new Uint8Array(0);
  /** The question of a slot that asks. */
  asks = new Float64Array(0);
  tries = new Uint16Array(0);
  /** When it was asked last, and when what runs has started. ms */
  changedAt = new Float64Array(0);
  /** When the slot was given to what runs there, or to the first task of its series. ms */
  since = new Float64Array(0);
  /** What is asked for, or was: a task that runs came of it. */
  entries: (Entry | undefined)[] = [];
  owners = new Int32Array(0);
  jobs = new Float64Array(0);
  tasks = new Int32Array(0);
  attempts = new Int32Array(0);
  matches = new Float64Array(0);
  /** ms; infinite where there is no limit. */
  timeouts = new Float64Array(0);
  /** By place: the series that a slot that asks is in, and what was printed there. Few have any. */
  readonly series = new Map<number, Series>();
  readonly outputs = new Map<number, OutputBuffer>();
  #size = 0;

  /** @returns the first of so many new places, which are idle */
  add(places: number): number {
    const first = this.#size;
    this.#size += places;
    if (this.#size > this.kinds.length) this.#grow(Math.max(this.#size, 2 * this.kinds.length));
    for (let place = first; place < this.#size; place++) this.entries.push(undefined);
    return first;
  }

  #grow(size: number): void {
    this.kinds = grown(this.kinds, new Uint8Array(size));
    this.marks = grown(this.marks, new Uint8Array(size));
    this.asks = grown(this.asks, new Float64Array(size));
    this.tries = grown(this.tries, new Uint16Array(size));
    this.changedAt = grown(this.changedAt, new Float64Array(size));
    this.since = grown(this.since, new Float64Array(size));
    this.owners = grown(this.owners, new Int32Array(size));
    this.jobs = grown(this.jobs, new Float64Array(size));
    this.tasks = grown(this.tasks, new Int32Array(size));
    this.attempts = grown(this.attempts, new Int32Array(size));
    this.matches = grown(this.matches, new Float64Array(size));
    this.timeouts = grown(this.timeouts, new Float64Array(size));
  }
}

function grown<T extends Uint8Array | Uint16Array | Int32Array | Float64Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
