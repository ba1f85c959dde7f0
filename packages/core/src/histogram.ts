import { sumOf } from './sums.js';
/**
 * How often a value fell between two bounds: what is needed to tell percentiles of many processes together, since
 * buckets add up. To add a value costs a comparison for each bound below it, and no memory.
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
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
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
