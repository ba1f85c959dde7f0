import type { Random } from '@goshawk/core';

/** Uniform integer in 0 … bound − 1, `bound` at most 2^32. */
export function integer(random: Random, bound: number): number {
  return Math.floor(random.next() * bound);
}

export function exponential(random: Random, mean: number): number {
  return -mean * Math.log(1 - random.next());
}

/** Standard normal draws, by Marsaglia's polar method, which yields two at a time. */
export class NormalDraws {
  readonly #random: Random;
  #spare: number | undefined;

  constructor(random: Random) {
    this.#random = random;
  }

  next(): number {
    const spare = this.#spare;
    if (spare !== undefined) {
      this.#spare = undefined;
      return spare;
    }
    for (;;) {
      const x = 2 * this.#random.next() - 1;
      const y = 2 * this.#random.next() - 1;
      const square = x * x + y * y;
      if (square >= 1 || square === 0) continue;
      const factor = Math.sqrt((-2 * Math.log(square)) / square);
      this.#spare = y * factor;
      return x * factor;
    }
  }
}

/** Standard normal distribution function (Abramowitz and Stegun 26.2.17, error below 1e-7). */
export function normalCdf(x: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(x));
  const polynomial =
    t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  const tail = (Math.exp(-(x * x) / 2) / Math.sqrt(2 * Math.PI)) * polynomial;
  return x >= 0 ? 1 - tail : tail;
}

/** Shuffles in place (Fisher–Yates) and returns the same array. */
export function shuffle<T extends { [index: number]: unknown; readonly length: number }>(
  random: Random,
  items: T,
): T {
  for (let i = items.length - 1; i > 0; i--) {
    const j = integer(random, i + 1);
    const swapped = items[i];
    items[i] = items[j];
    items[j] = swapped;
  }
  return items;
}

/** Rounds durations to the microsecond, as in the Google trace, which keeps written traces short. */
export function microseconds(seconds: number): number {
  return Math.round(seconds * 1e6) / 1e6;
}

/** Submission times of a Poisson process that starts at 0, in seconds to the millisecond. */
export function poissonArrivals(random: Random, meanInterarrivalSeconds: number): () => number {
  let now = 0;
  return () => {
    const submitSeconds = Math.round(now * 1000) / 1000;
    now += exponential(random, meanInterarrivalSeconds);
    return submitSeconds;
  };
}

/** Selects exactly `chosen` of `total` jobs at random positions, one answer per job, like draws from an urn. */
export function urn(random: Random, total: number, chosen: number): () => boolean {
  let left = total;
  let chosenLeft = chosen;
  return () => {
    const picked = random.next() * left < chosenLeft;
    left--;
    if (picked) chosenLeft--;
    return picked;
  };
}

/**
 * Stratified uniform numbers in [0, 1): every run of `strata` numbers has one in each `1/strata`-th of the interval,
 * in random order. A sample drawn through them has nearly the percentiles and shares of the distribution, while
 * independent draws of a heavy-tailed one would scatter widely: of 50,000 long jobs of the Google workload, about
 * fifty have a quarter of all task seconds.
 */
export class StratifiedUniform {
  readonly #random: Random;
  readonly #order: Uint16Array;
  #next = 0;

  /** @param strata at most 65,536 */
  constructor(random: Random, strata: number) {
    this.#random = random;
    this.#order = Uint16Array.from({ length: strata }, (_, stratum) => stratum);
  }

  draw(): number {
    const order = this.#order;
    // One step of Fisher–Yates per draw: any order left over from the last round will do.
    const picked = this.#next + integer(this.#random, order.length - this.#next);
    const stratum = order[picked]!;
    order[picked] = order[this.#next]!;
    order[this.#next] = stratum;
    this.#next = (this.#next + 1) % order.length;
    return (stratum + this.#random.next()) / order.length;
  }
}

/** Selects the item at a position between 0 and the sum of all weights. */
export function pickAt<T>(items: readonly T[], weightOf: (item: T) => number, at: number): T {
  let left = at;
  for (const item of items) {
    if (left < weightOf(item)) return item;
    left -= weightOf(item);
  }
  return items.at(-1)!;
}
