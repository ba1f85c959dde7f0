import { type Millis, meanOf, sumOf } from '@goshawk/core';

/**
 * Returns how much the run times of a job's tasks differ: ln(1 + v²), where v is their standard deviation over their mean
 * (SLearn §4.2: the variation across space). This is the logarithmic variance of a lognormal distribution with the same
 * mean and variance.
 *
 * @param runsMs of a job's tasks
 * @returns undefined for fewer than two tasks, or tasks of 0 ms
 */
export function spreadOf(runsMs: ArrayLike<Millis>): number | undefined {
  const { length } = runsMs;
  if (length < 2) return undefined;
  const mean = meanOf(runsMs);
  if (!(mean > 0)) return undefined;
  const squares = sumOf(runsMs, (ms) => ((ms - mean) / mean) ** 2);
  return Math.log1p(squares / (length - 1));
}

/** Differences below 1% do not count. */
const DIFFERENCE_MIN = 1e-4;

export type SavedSpread = readonly [logSum: number, count: number];

/**
 * The typical spread of a group of jobs: the geometric mean, because in most jobs all tasks take about as long, and
 * the few exceptions would dominate an arithmetic mean.
 */
export class Spread {
  readonly #kept: number;
  #logSum = 0;
  #count = 0;

  /** @param kept weight kept by earlier jobs when another is added; below 1, recent jobs count most */
  constructor(kept = 1) {
    this.#kept = kept;
  }

  add(spread: number): void {
    this.#logSum = this.#logSum * this.#kept + Math.log(Math.max(spread, DIFFERENCE_MIN));
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
