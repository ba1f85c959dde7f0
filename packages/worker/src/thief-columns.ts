import { type Address, grown, NOBODY } from '@goshawk/core';

/** What a thief has done: victims that it has asked, those of them that gave something, and probes that it got. */
export interface Stolen {
  readonly attempts: number;
  readonly successes: number;
  readonly probesMoved: number;
}

/** Addresses of workers that may be asked; never changed, since many thieves draw from one list. */
export type Victims = Omit<Readonly<Int32Array>, 'set' | 'fill' | 'sort' | 'reverse' | 'copyWithin'>;

/**
 * How far the rounds of thieves are: one row a worker. Most of what a large cluster under Hawk's stealing does is to ask
 * workers that have nothing, and what a thief needs for the next question lies in one or two lines of a processor's cache.
 */
export class ThiefColumns {
  /**
   * By worker: who was asked and has not answered, the number of the round, what it has counted, how many were tried in this
   * round, and who.
   */
  #rows = new Int32Array(0);
  /** Numbers a row; those who were tried are the last ones, and as many as fit. */
  #width = INITIAL_WIDTH;
  /** By worker: when somebody was asked last, and the last pause between rounds. ms */
  #times = new Float64Array(0);
  #size = 0;
  /** The last list of victims that a worker was told, and the same half as wide. */
  #victims: { readonly told: readonly Address[]; readonly list: Victims } | undefined;
  /** Of all workers. */
  readonly totals = { attempts: 0, successes: 0, probesMoved: 0 };

  /** There is a row for the worker. */
  admit(worker: number): void {
    if (worker < this.#size) return;
    const size = Math.max(worker + 1, 2 * this.#size);
    this.#layOut(this.#width, size);
    this.#times = grown(this.#times, TIMES * size);
  }

  /** The list as all draw from it who were told the same one. */
  victimsOf(told: readonly Address[]): Victims {
    if (this.#victims?.told !== told) this.#victims = { told, list: Int32Array.from(told) };
    return this.#victims.list;
  }

  /** NOBODY between rounds. */
  asked(worker: number): Address {
    return this.#rows[this.#width * worker + ASKED] as Address;
  }

  /** Whether this is the answer that the round waits for. */
  awaits(worker: number, victim: Address, round: number): boolean {
    const at = this.#width * worker;
    return this.#rows[at + ASKED] === victim && this.#rows[at + ROUND] === round;
  }

  round(worker: number): number {
    return this.#rows[this.#width * worker + ROUND]!;
  }

  end(worker: number): void {
    this.#rows[this.#width * worker + ASKED] = NOBODY;
  }

  /** Begins the next round, in which nobody was tried yet. */
  begin(worker: number): void {
    const at = this.#width * worker;
    this.#rows[at + ROUND]!++;
    this.#rows[at + COUNT] = 0;
  }

  triedCount(worker: number): number {
    return this.#rows[this.#width * worker + COUNT]!;
  }

  hasTried(worker: number, victim: Address): boolean {
    const rows = this.#rows;
    const first = this.#width * worker + TRIED;
    const end = first + this.triedCount(worker);
    for (let place = first; place < end; place++) if (rows[place] === victim) return true;
    return false;
  }

  /** Now it waits for the victim's answer. */
  ask(worker: number, victim: Address): void {
    const count = this.triedCount(worker);
    if (TRIED + count === this.#width) this.#layOut(2 * this.#width, this.#size);
    const at = this.#width * worker;
    this.#rows[at + TRIED + count] = victim;
    this.#rows[at + COUNT] = count + 1;
    this.#rows[at + ASKED] = victim;
    this.#rows[at + ATTEMPTS]!++;
    this.totals.attempts++;
  }

  /** Kept where somebody asks for it. */
  setAskedAt(worker: number, now: number): void {
    this.#times[TIMES * worker + ASKED_AT] = now;
  }

  askedAt(worker: number): number {
    return this.#times[TIMES * worker + ASKED_AT]!;
  }

  pauseMs(worker: number): number {
    return this.#times[TIMES * worker + PAUSE]!;
  }

  setPauseMs(worker: number, pauseMs: number): void {
    this.#times[TIMES * worker + PAUSE] = pauseMs;
  }

  /** The next pause between its rounds is the shortest again. */
  foundWork(worker: number): void {
    if (worker < this.#size) this.setPauseMs(worker, 0);
  }

  /** A victim gave so many probes. */
  succeeded(worker: number, probes: number): void {
    const at = this.#width * worker;
    this.#rows[at + SUCCESSES]!++;
    this.#rows[at + MOVED]! += probes;
    this.totals.successes++;
    this.totals.probesMoved += probes;
  }

  /** Since the start, in 32 bits each. */
  counted(worker: number): Stolen {
    const rows = this.#rows;
    const at = this.#width * worker;
    return {
      attempts: rows[at + ATTEMPTS]! >>> 0,
      successes: rows[at + SUCCESSES]! >>> 0,
      probesMoved: rows[at + MOVED]! >>> 0,
    };
  }

  #layOut(width: number, size: number): void {
    const rows = new Int32Array(width * size);
    for (let worker = 0; worker < size; worker++) {
      rows[width * worker + ASKED] = NOBODY;
      if (worker >= this.#size) continue;
      const from = this.#width * worker;
      rows.set(this.#rows.subarray(from, from + this.#width), width * worker);
    }
    this.#rows = rows;
    this.#width = width;
    this.#size = size;
  }
}

// Places in a row.
const ASKED = 0;
const ROUND = 1;
const ATTEMPTS = 2;
const SUCCESSES = 3;
const MOVED = 4;
const COUNT = 5;
const TRIED = 6;
/** A line of a cache, with room for Hawk's ten. */
const INITIAL_WIDTH = 16;

const TIMES = 2;
const ASKED_AT = 0;
const PAUSE = 1;
