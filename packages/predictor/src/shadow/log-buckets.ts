import { sumOf } from '@goshawk/core';

/** Number of values by bucket; bucket `0` is for 0. */
export type BucketCounts = Record<string, number>;

/** Ratio of the bounds of a bucket, which makes quantiles accurate to 1%. */
const GROWTH = 1.02;
const LOG_GROWTH = Math.log(GROWTH);
/** Lower bound of bucket 1; smaller values count as 0. */
const VALUE_MIN = 1e-6;
const ZERO_BUCKET = 0;

/**
 * Counts a value in buckets with fixed bounds, so that counts of several parties can be summed.
 *
 * @param value zero or more
 */
export function countIn(buckets: BucketCounts, value: number): void {
  const bucket = value < VALUE_MIN ? ZERO_BUCKET : 1 + Math.floor(Math.log(value / VALUE_MIN) / LOG_GROWTH);
  buckets[bucket] = (buckets[bucket] ?? 0) + 1;
}

/** Returns a quantile (nearest rank) as the middle of its bucket; NaN if there are no values. */
export function quantileOf(buckets: Readonly<BucketCounts>, q: number): number {
  const sorted = Object.entries(buckets).map(([bucket, count]) => [Number(bucket), count] as const);
  sorted.sort(([a], [b]) => a - b);
  let rank = Math.max(1, Math.ceil(q * sumOf(sorted, ([, count]) => count)));
  for (const [bucket, count] of sorted) {
    rank -= count;
    if (rank <= 0) return bucket === ZERO_BUCKET ? 0 : VALUE_MIN * GROWTH ** (bucket - 0.5);
  }
  return Number.NaN;
}
