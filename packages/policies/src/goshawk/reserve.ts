import { DecayingSum, type Millis } from '@goshawk/core';

/**
 * How many long tasks may run at a time: all slots but a reserve for short ones. With `auto` the reserve is what short
 * work has needed on average, and some more for its bursts, within bounds; it is a count and no label on workers, so
 * whichever slots short work leaves are the ones that long work gets.
 */
export class LongLimit {
  readonly #reserve: number | 'auto';
  readonly #windowMs: Millis;
  /** Short work that came lately. ms */
  readonly #work: DecayingSum;

  /**
   * @param reserve a fraction of all slots, or `auto`
   * @param windowMs over which the need of short work is averaged
   */
  constructor(reserve: number | 'auto', windowMs: Millis) {
    this.#reserve = reserve;
    this.#windowMs = windowMs;
    this.#work = new DecayingSum(windowMs);
  }

  /** Short work has come: estimate × tasks. */
  shortCame(workMs: Millis, now: Millis): void {
    this.#work.add(workMs, now);
  }

  /** Long tasks that may run in so many slots. */
  of(slots: number, now: Millis): number {
    if (this.#reserve !== 'auto') return Math.round(slots * (1 - this.#reserve));
    const needed = this.#windowMs > 0 ? this.#work.at(now) / this.#windowMs : 0;
    const forBursts = Math.min(BURST_FACTOR * needed, Math.max(BURSTS * slots, ROOTS * Math.sqrt(needed)));
    return slots - Math.round(Math.max(LEAST * slots, Math.min(MOST * slots, needed + forBursts)));
  }
}

/**
 * For bursts: a fraction of all slots; in small clusters, where they count for more, so many square roots of what is needed.
 * No more than so many times what is needed: where nothing short comes, nothing is kept for it.
 */
const BURST_FACTOR = 8;
const BURSTS = 0.05;
const ROOTS = 4;
/** Bounds of the reserve, as fractions of all slots. */
const LEAST = 0.02;
const MOST = 0.3;
