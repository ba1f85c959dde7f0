import { DecayingSum, type Millis } from '@goshawk/core';

/**
 * How many long tasks may run at a time: all slots but a reserve for short ones. With `auto` the reserve is
 * thrice the slots that short work has needed on average, within bounds; it is a count and no label on
 * workers, so whichever slots short work leaves are the ones that long work gets.
 *
 * The bound from above is low where central matches short jobs, since each slot that becomes free is theirs first:
 * where they need much, so much of their own ends all the time that a burst of them waits for nothing, and what more is
 * kept stands idle. Where workers have to find them it is not.
 */
export class LongLimit {
  readonly #reserve: number | 'auto';
  readonly #windowMs: Millis;
  readonly #most: number;
  /** Short work that came lately. ms */
  readonly #work: DecayingSum;

  /**
   * @param reserve a fraction of all slots, or `auto`
   * @param windowMs over which the need of short work is averaged
   * @param matchesShort whether short jobs are matched here
   */
  constructor(reserve: number | 'auto', windowMs: Millis, matchesShort: boolean) {
    this.#reserve = reserve;
    this.#most = matchesShort ? MOST_WHERE_MATCHED : MOST;
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
    return slots - this.#needed(slots, this.#most, now);
  }

  /** Slots that small jobs of which nobody knows yet what they are may have: what short work needs, if it is more. */
  roomForSmall(slots: number, now: Millis): number {
    if (this.#reserve !== 'auto') return slots - this.of(slots, now);
    return this.#needed(slots, MOST, now);
  }

  /** @param most as a fraction of all slots */
  #needed(slots: number, most: number, now: Millis): number {
    const needed = this.#windowMs > 0 ? this.#work.at(now) / this.#windowMs : 0;
    return Math.round(Math.max(LEAST * slots, Math.min(most * slots, TIMES * needed)));
  }
}

const TIMES = 3;
/** Bounds of the reserve, as fractions of all slots. */
const LEAST = 0.02;
const MOST = 0.3;
const MOST_WHERE_MATCHED = 0.05;
