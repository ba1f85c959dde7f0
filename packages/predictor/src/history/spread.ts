import { type Millis, meanOf, sumOf } from '@goshawk/core';

/**
 * How much the tasks of one job differ, as the variance of the logarithms that a lognormal of their mean and variance
 * has: ln(1 + v²), v the standard deviation over the mean (SLearn §4.2: the variation across space).
 *
 * @param runsMs of a job's tasks
 * @returns undefined for fewer than two, or tasks of no time at all
 */
export function spreadOf(runsMs: ArrayLike<Millis>): number | undefined {
  const { length } = runsMs;
  if (length < 2) return undefined;
  const mean = meanOf(runsMs);
  if (!(mean > 0)) return undefined;
  const squares = sumOf(runsMs, (ms) => ((ms - mean) / mean) ** 2);
  return Math.log1p(squares / (length - 1));
}

/** Tasks that agree to 1% count the same as tasks that agree even more closely. */
const LEAST = 1e-4;

export type SavedSpread = readonly [logSum: number, count: number];

/**
 * The typical spread of a group of jobs: the geometric mean, since in most jobs all tasks take about as long, and the
 * few in which they do not would speak for all.
 */
export class Spread {
  readonly #kept: number;
  #logSum = 0;
  #count = 0;

  /** @param kept of what it knew before, when it learns of another job: below 1 the last ones count most */
  constructor(kept = 1) {
    this.#kept = kept;
  }

  add(spread: number): void {
    this.#logSum = this.#logSum * this.#kept + Math.log(Math.max(spread, LEAST));
    this.#count = this.#count * this.#kept + 1;
  }

  get typical(): number | undefined {
    return this.#count === 0 ? undefined : Math.exp(this.#logSum / this.#count);
  }

  save(): SavedSpread {
    return [this.#logSum, this.#count];
  }

  static load([logSum, count]: SavedSpread, kept = 1): Spread {
    const spread = new Spread(kept);
    spread.#logSum = logSum;
    spread.#count = count;
    return spread;
  }
}
