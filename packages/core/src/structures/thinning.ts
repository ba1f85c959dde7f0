import type { Millis } from '../ids.js';
import { setLatest } from './latest.js';

/** Causes that are counted. */
const CAUSES_MAX = 10_000;

/**
 * Thins out records that anyone can cause in any number, so that a flood of one cause does not remove the records of others: of
 * each cause it keeps the first ones in a period, and then those whose number is a power of two.
 */
export class Thinning<Cause> {
  readonly #most: number;
  readonly #periodMs: Millis;
  readonly #counts = new Map<Cause, { readonly count: number; readonly since: Millis }>();

  /** @param most number of records of a cause in a period that are all kept */
  constructor(most: number, periodMs: Millis) {
    this.#most = most;
    this.#periodMs = periodMs;
  }

  /** Counts a record. @returns undefined: drop it; 0: keep it; else keep it with this number, because others were dropped */
  count(cause: Cause, now: Millis): number | undefined {
    const known = this.#counts.get(cause);
    const isOver = known === undefined || now - known.since >= this.#periodMs;
    const { count, since } = isOver
      ? { count: 1, since: now }
      : { count: known.count + 1, since: known.since };
    setLatest(this.#counts, cause, { count, since }, CAUSES_MAX);
    if (count <= this.#most) return 0;
    return (count & (count - 1)) === 0 ? count : undefined;
  }
}
