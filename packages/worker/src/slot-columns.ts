import { grown, type MessageOf, type Millis, NO_RESOURCES, type Resources } from '@goshawk/core';
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

// Marks of what a slot serves: what is asked of each end, so that nothing need be looked at but these.
export const RUNS_LONG = 1;
/** Its owner is gone: it was told to end, and nobody will confirm that. */
export const IS_ORPHANED = 2;
/** Central has placed it there. */
export const IS_PLACED = 4;
/** It needs something beside its slot. */
export const HAS_DEMAND = 8;

/** What is told of a slot, by its place in the slot's row. */
export const Told = {
  /** The question of a slot that asks. */
  ask: 0,
  /** When it asked last, or when what runs has started. ms */
  changedAt: 1,
  /** When the slot was given to what runs there, or to the first task of its series. ms */
  since: 2,
  owner: 3,
  job: 4,
  task: 5,
  attempt: 6,
  match: 7,
} as const;

const ROW = Object.keys(Told).length;

/**
 * What the slots of all workers in a process do: one place a slot, those of a worker side by side. Of 15,000 workers in a
 * simulation this fits into a processor's cache, which as many objects do not; and what is told of one slot lies in one
 * or two lines of it.
 */
export class SlotColumns {
  kinds = new Uint8Array(0);
  marks = new Uint8Array(0);
  tries = new Uint32Array(0);
  /** What is asked for, or was: a task that runs came of it. */
  entries: (Entry | undefined)[] = [];
  /** By place: the time limit of what runs there, and what it has printed; the series that a slot that asks is in. */
  readonly timeouts = new Map<number, Millis>();
  readonly outputs = new Map<number, OutputBuffer>();
  readonly series = new Map<number, Series>();
  #rows = new Float64Array(0);
  #size = 0;
  /** By worker: its first place; those behind it begin with that of the next worker, or where all end. */
  #firsts = new Int32Array(1);
  /** Slots of each worker, where all have as many; 0 where they do not. */
  #each = 0;
  /** By worker: what its tasks may use beside slots, and what of that is free. */
  readonly capacities: Resources[] = [];
  readonly free: Record<string, number>[] = [];
  /** By worker: its idle slots, and those that serve long work. */
  idle = new Int32Array(0);
  long = new Int32Array(0);
  #workers = 0;

  /** @returns the number of a new worker, whose places are idle */
  add(places: number, capacity: Resources): number {
    const worker = this.#workers++;
    if (worker === this.idle.length) {
      this.idle = grown(this.idle, this.#workers);
      this.long = grown(this.long, this.#workers);
      this.#firsts = grown(this.#firsts, this.idle.length + 1);
    }
    this.idle[worker] = places;
    const first = this.#size;
    this.#size += places;
    this.#firsts[this.#workers] = this.#size;
    this.#each = worker === 0 || this.#each === places ? places : 0;
    if (this.#size > this.kinds.length) this.#grow();
    for (let place = first; place < this.#size; place++) this.entries.push(undefined);
    this.capacities.push(capacity);
    this.free.push(capacity === NO_RESOURCES ? NOTHING_FREE : { ...capacity });
    return worker;
  }

  /** The first place of a worker; also of one behind the last, where all places end. */
  firstOf(worker: number): number {
    return this.#each > 0 ? this.#each * worker : this.#firsts[worker]!;
  }

  /** @param what one of `Told` */
  get(place: number, what: number): number {
    const told = this.#rows[ROW * place + what]!;
    // Until its code is hot the engine makes an object of each number that it reads here, and of all that are copied from it
    // for ever after, unless it is told that this is an integer.
    const whole = told | 0;
    return whole === told ? whole : told;
  }

  set(place: number, what: number, value: number): void {
    this.#rows[ROW * place + what] = value;
  }

  #grow(): void {
    this.kinds = grown(this.kinds, this.#size);
    this.marks = grown(this.marks, this.#size);
    this.tries = grown(this.tries, this.#size);
    this.#rows = grown(this.#rows, ROW * this.#size);
  }
}

/** Of those that have nothing beside slots. */
const NOTHING_FREE: Record<string, number> = NO_RESOURCES;
