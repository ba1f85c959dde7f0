import { sumOf } from './sums.js';

/**
 * Counts of values by bucket. Buckets can be summed, so the percentiles of many processes can be computed
 * together. Adding a value is a binary search without allocation.
 */
export class Histogram {
  /** Ascending upper bounds, inclusive. */
  readonly bounds: readonly number[];
  /** Counts by bucket, not cumulative; the last bucket is above all bounds. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  get count(): number {
    return sumOf(this.counts);
  }

  add(value: number): void {
    const { bounds } = this;
    let bucket = 0;
    let above = bounds.length;
    while (bucket < above) {
      const middle = (bucket + above) >>> 1;
      if (value > bounds[middle]!) bucket = middle + 1;
      else above = middle;
    }
    this.counts[bucket]!++;
    this.sum += value;
  }

  /** Adds all values of another histogram with the same bounds. */
  addAll({ counts, sum }: Histogram): void {
    counts.forEach((count, bucket) => {
      this.counts[bucket]! += count;
    });
    this.sum += sum;
  }
}

/** Bounds per factor of ten: each bucket is at most 20% wider than the one below. */
const PER_DECADE = 13;

/**
 * Returns bounds between two powers of ten such that a percentile read from a bucket is within 20% of the
 * value.
 */
export function logBounds(from: number, to: number): readonly number[] {
  const first = Math.round(PER_DECADE * Math.log10(from));
  const last = Math.round(PER_DECADE * Math.log10(to));
  return Array.from({ length: last - first + 1 }, (_, step) =>
    Number((10 ** ((first + step) / PER_DECADE)).toPrecision(4)),
  );
}
