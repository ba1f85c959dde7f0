import { sumOf } from './sums.js';

/**
 * How often a value fell between two bounds: what is needed to tell percentiles of many processes together, since
 * buckets add up. Adding a value is a binary search and allocates nothing.
 */
export class Histogram {
  /** Ascending; each is the largest value of its bucket. */
  readonly bounds: readonly number[];
  /** Values by bucket, each in one only; the last bucket is for what is above all bounds. */
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

  /** All values of another one of the same bounds. */
  addAll({ counts, sum }: Histogram): void {
    counts.forEach((count, bucket) => {
      this.counts[bucket]! += count;
    });
    this.sum += sum;
  }
}

/** Bounds per factor of ten: each bucket is at most 20% wider than the one below. */
const PER_DECADE = 13;

/** Bounds from one power of ten to another, so that a percentile read from a bucket is within 20% of the value. */
export function logBounds(from: number, to: number): readonly number[] {
  const first = Math.round(PER_DECADE * Math.log10(from));
  const last = Math.round(PER_DECADE * Math.log10(to));
  return Array.from({ length: last - first + 1 }, (_, step) =>
    Number((10 ** ((first + step) / PER_DECADE)).toPrecision(4)),
  );
}
