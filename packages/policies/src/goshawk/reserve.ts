import { DecayingSum, type Millis } from '@goshawk/core';

/**
 * How many long tasks may run at a time: all slots but a reserve for short ones. With `auto` the reserve is what short
 * work has needed on average, and some more for its bursts, within bounds; it is a count and no label on workers, so
 * whichever slots short work leaves are the ones that long work gets. What it has needed is the work that came or, where
 * that is more, the slots it had: long tasks that nobody knows to be long count while they run.
 */
export class LongLimit {
  readonly #reserve: number | 'auto';
  #windowMs: Millis;
  /** Short work that came lately. ms */
  readonly #work: DecayingSum;
  /** Slots of tasks not known to be long × time. */
  readonly #occupied: DecayingSum;
  #occupiedSlots = 0;
  /** It is so many since then. */
  #occupiedSince: Millis = 0;

  /**
   * @param reserve a fraction of all slots, or `auto`
   * @param windowMs over which the need of short work is averaged
   */
  constructor(reserve: number | 'auto', windowMs: Millis) {
    this.#reserve = reserve;
    this.#windowMs = windowMs;
    this.#work = new DecayingSum(windowMs);
    this.#occupied = new DecayingSum(OCCUPIED_WINDOWS * windowMs);
  }

  /** Changes the averaging window of the demand for short work. */
  averageOver(windowMs: Millis, now: Millis): void {
    if (windowMs === this.#windowMs) return;
    this.shortHave(this.#occupiedSlots, now);
    this.#windowMs = windowMs;
    this.#work.rescale(windowMs, now);
    this.#occupied.rescale(OCCUPIED_WINDOWS * windowMs, now);
  }

  /** Short work has come: estimate × tasks. */
  shortCame(workMs: Millis, now: Millis): void {
    this.#work.add(workMs, now);
  }

  /** Sets the number of slots for tasks not known to be long. */
  shortHave(slots: number, now: Millis): void {
    const windowMs = OCCUPIED_WINDOWS * this.#windowMs;
    if (windowMs > 0) {
      // Average of a constant with the decay of the sum.
      const heldMs = windowMs * (1 - Math.exp((this.#occupiedSince - now) / windowMs));
      this.#occupied.add(this.#occupiedSlots * heldMs, now);
    }
    this.#occupiedSlots = slots;
    this.#occupiedSince = now;
  }

  /** Long tasks that may run in so many slots. */
  of(slots: number, now: Millis): number {
    return this.#leaving(this.#windowMs > 0 ? this.#needed(now) : 0, slots);
  }

  /** More may run after a while although nothing happens: what short work needed is forgotten. */
  risesWithTime(slots: number, now: Millis): boolean {
    return this.of(slots, now) < this.#leaving(0, slots);
  }

  /** @param needed slots that short work has needed of late */
  #leaving(needed: number, slots: number): number {
    if (this.#reserve !== 'auto') return Math.round(slots * (1 - this.#reserve));
    const forBursts = Math.max(BURSTS * slots, ROOTS * Math.sqrt(needed));
    return slots - Math.round(Math.min(MOST * slots, needed + forBursts));
  }

  /** 1 where a slot is kept from whatever is not known to be short, pilots too; else 0. */
  lastSlot(slots: number): number {
    return slots >= SLOTS_PER_LAST && this.#reserve !== 0 ? 1 : 0;
  }

  #needed(now: Millis): number {
    const came = this.#work.at(now) / this.#windowMs;
    const occupied = this.#occupied.at(now) / (OCCUPIED_WINDOWS * this.#windowMs);
    return Math.max(came, occupied);
  }
}

/** Slots are averaged over more time than work: a task that is not known to be long may run for many cutoffs. */
const OCCUPIED_WINDOWS = 4;
/** For bursts: a fraction of all slots; in small clusters, where they count for more, so many square roots of what is needed. */
const BURSTS = 0.05;
const ROOTS = 4;
/** The reserve is no more than this fraction of all slots. */
const MOST = 0.3;
/** Threshold in slots: below it one slot is more than a tenth of those for long jobs. */
const SLOTS_PER_LAST = 10;
