import { meanOf } from './sums.js';

/**
 * The percentile by nearest rank: the least value such that at least `percent` of all values are no
 * greater. No interpolation, so the result is a value that was seen.
 *
 * @param sorted ascending
 * @param percent in (0, 100]
 * @returns NaN for no values
 */
export function nearestRank(sorted: ArrayLike<number>, percent: number): number {
  if (sorted.length === 0) return Number.NaN;
  return sorted[Math.max(0, Math.ceil((percent * sorted.length) / 100) - 1)]!;
}

/** Jain's index, (Σx)² / (n·Σx²): 1 where all are equal, 1/n where one has all; 1 where nobody has anything. */
export function jainIndex(values: readonly number[]): number {
  let sum = 0;
  let squares = 0;
  for (const value of values) {
    sum += value;
    squares += value * value;
  }
  return squares === 0 ? 1 : (sum * sum) / (values.length * squares);
}

/** A sample; percentiles by nearest rank. */
export interface SixNumbers {
  readonly count: number;
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** Six statistics of an ascending sample; undefined if it is empty. */
export function sixNumbersOf(ascending: ArrayLike<number>): SixNumbers | undefined {
  const count = ascending.length;
  if (count === 0) return undefined;
  return {
    count,
    // Summed in ascending order, so that the mean does not depend on the order of arrival.
    mean: meanOf(ascending),
    p50: nearestRank(ascending, 50),
    p90: nearestRank(ascending, 90),
    p99: nearestRank(ascending, 99),
    max: ascending[count - 1]!,
  };
}
