import { meanOf } from './sums.js';

/**
 * Percentile by nearest rank: the smallest value that is at least as large as `percent` of the values. The
 * result is always one of the values.
 *
 * @param sorted ascending
 * @param percent in (0, 100]
 * @returns NaN for no values
 */
export function nearestRank(sorted: ArrayLike<number>, percent: number): number {
  if (sorted.length === 0) return Number.NaN;
  return sorted[Math.max(0, Math.ceil((percent * sorted.length) / 100) - 1)]!;
}

/** Statistics of a sample; percentiles by nearest rank. */
export interface SixNumbers {
  readonly count: number;
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** Computes the statistics of an ascending sample; undefined if it is empty. */
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
