/** A number of a bucket, 0 included, and how many values are in it; `0` is for nothing at all. */
export type BucketCounts = Readonly<Record<string, number>>;

/** From one bucket to the next values grow by so much: quantiles are right to 1%. */
const GROWTH = 1.02;
const LOG_GROWTH = Math.log(GROWTH);
/** The values of bucket 1; what is less is nothing. */
const LEAST = 1e-6;
const NOTHING = 0;

/**
 * Values counted in buckets that are the same everywhere, so that counts of several parties are added like any others.
 */
export class LogBuckets {
  readonly #counts = new Map<number, number>();
  #count = 0;

  /** @param value zero or more */
  add(value: number): void {
    const bucket = value < LEAST ? NOTHING : 1 + Math.floor(Math.log(value / LEAST) / LOG_GROWTH);
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + 1);
    this.#count++;
  }

  /** By nearest rank; the middle of the bucket that it is in. NaN for no values. */
  quantile(q: number): number {
    let rank = Math.max(1, Math.ceil(q * this.#count));
    for (const [bucket, count] of [...this.#counts].sort(([a], [b]) => a - b)) {
      rank -= count;
      if (rank <= 0) return bucket === NOTHING ? 0 : LEAST * GROWTH ** (bucket - 0.5);
    }
    return Number.NaN;
  }

  counts(): BucketCounts {
    return Object.fromEntries(this.#counts);
  }

  static of(counts: BucketCounts): LogBuckets {
    const buckets = new LogBuckets();
    for (const [bucket, count] of Object.entries(counts)) {
      buckets.#counts.set(Number(bucket), count);
      buckets.#count += count;
    }
    return buckets;
  }
}
