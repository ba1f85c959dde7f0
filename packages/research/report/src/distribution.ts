import { concatenated, meanOf, nearestRank, sixNumbersOf } from '@goshawk/core';

/**
 * A sample in six numbers. An empty sample has `count` 0 and nulls, since JSON has no NaN and a zero would
 * look like a very good result.
 */
export interface Distribution {
  readonly count: number;
  readonly mean: number | null;
  readonly p50: number | null;
  readonly p90: number | null;
  readonly p99: number | null;
  readonly max: number | null;
}

/**
 * Returns a percentile of an ascending sample by nearest rank, which is a measured value; null if it is
 * empty.
 *
 * @param percent in (0, 100]
 */
export function percentileOfSorted(ascending: ArrayLike<number>, percent: number): number | null {
  return ascending.length === 0 ? null : nearestRank(ascending, percent);
}

/** Returns all values of several samples, ascending. */
export function pooled(samples: readonly (readonly number[] | Float64Array)[]): Float64Array {
  return concatenated(samples).sort();
}

/** Returns the distribution of an ascending sample; see `summarise`. */
export function summariseSorted(ascending: ArrayLike<number>): Distribution {
  return sixNumbersOf(ascending) ?? { count: 0, mean: null, p50: null, p90: null, p99: null, max: null };
}

/** Returns the distribution of finite numbers, in the unit of the values; percentiles by nearest rank. */
export function summarise(values: Iterable<number>): Distribution {
  return summariseSorted(Float64Array.from(values).sort());
}

/** Returns the arithmetic mean of the numbers among the values; null if there are none. */
export function meanOfPresent(values: readonly (number | null)[]): number | null {
  const present = values.filter((value) => value !== null);
  return present.length === 0 ? null : meanOf(present);
}
