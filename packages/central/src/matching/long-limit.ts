import type { Millis } from '@goshawk/core';

/**
 * How many long tasks may run at a time: all slots but a reserve for short ones. With `auto` the reserve is
 * thrice the slots that short work has needed on average, within bounds; it is a count and no label on
 * workers, so whichever slots short work leaves are the ones that long work gets.
 */
export class LongLimit {
  readonly #reserve: number | 'auto';
  readonly #windowMs: Millis;
  /** Σ work · e^(−age ÷ window), as of `#at`. ms */
  #work = 0;
  #at: Millis = 0;

  /**
   * @param reserve a fraction of all slots, or `auto`
   * @param windowMs over which the need of short work is averaged
   */
  constructor(reserve: number | 'auto', windowMs: Millis) {
    this.#reserve = reserve;
    this.#windowMs = windowMs;
  }

  /** Short work has come: estimate × tasks. */
  shortCame(workMs: Millis, now: Millis): void {
    this.#decay(now);
    this.#work += workMs;
  }

  /** Long tasks that may run in so many slots. */
  of(slots: number, now: Millis): number {
    if (this.#reserve !== 'auto') return Math.round(slots * (1 - this.#reserve));
    this.#decay(now);
    const needed = this.#windowMs > 0 ? this.#work / this.#windowMs : 0;
    return slots - Math.round(Math.max(LEAST * slots, Math.min(MOST * slots, TIMES * needed)));
  }

  #decay(now: Millis): void {
    if (now > this.#at && this.#windowMs > 0) this.#work *= Math.exp((this.#at - now) / this.#windowMs);
    this.#at = now;
  }
}

const TIMES = 3;
/** Bounds of the reserve, as fractions of all slots. */
const LEAST = 0.02;
const MOST = 0.3;
