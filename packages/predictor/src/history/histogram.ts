import { invariant } from '@goshawk/core';
import type { Segment } from '../estimator.js';

/**
 * Run times as a streaming histogram (Ben-Haim and Tom-Tov, "A Streaming Parallel Decision Tree Algorithm",
 * JMLR 2010, as 3σPredict uses it, §4.1): a value that no bin covers makes a bin of its own, and when there are
 * too many, the two neighbours whose centroids are closest become one.
 *
 * Bins keep their least and greatest value beside the centroid. They never overlap, so the count of each is
 * exact, and so is the bin that a quantile falls into: an estimated quantile is off by less than the width of one
 * bin, and exact as long as there are no more distinct values than bins.
 */
export const BINS_MAX = 80;

/** How many values, their sum, the least and the greatest; or, of one value, that value. */
export type SavedBin = number | readonly [n: number, sum: number, lo: number, hi: number];

/** A bin takes four numbers in one array: how many values, their sum, the least and the greatest. */
const STRIDE = 4;
const SUM = 1;
const LO = 2;
const HI = 3;

export class Histogram {
  readonly #binsMax: number;
  /** A plain array: most histograms hold a value or two, and a typed array of that takes four times the room. */
  #bins: number[] = [];
  #size = 0;
  #count = 0;

  /** @param binsMax two at least */
  constructor(binsMax: number = BINS_MAX) {
    invariant(binsMax >= 2, `a histogram of ${binsMax} bins tells nothing`);
    this.#binsMax = binsMax;
  }

  /** How many values were added. */
  get count(): number {
    return this.#count;
  }

  get binCount(): number {
    return this.#size;
  }

  /** NaN for no values. */
  get min(): number {
    return this.#size === 0 ? Number.NaN : this.#bins[LO]!;
  }

  /** NaN for no values. */
  get max(): number {
    return this.#size === 0 ? Number.NaN : this.#bins[(this.#size - 1) * STRIDE + HI]!;
  }

  /** NaN for no values. Exact up to rounding, whatever was merged. */
  get mean(): number {
    let sum = 0;
    for (let at = 0; at < this.#size * STRIDE; at += STRIDE) sum += this.#bins[at + SUM]!;
    return sum / this.#count;
  }

  /** @param x finite */
  add(x: number): void {
    invariant(Number.isFinite(x), `a run time of ${x} is no number`);
    this.#count++;
    const place = this.#placeOf(x);
    const at = (place - 1) * STRIDE;
    if (place > 0 && x <= this.#bins[at + HI]!) {
      this.#bins[at]! += 1;
      this.#bins[at + SUM]! += x;
      return;
    }
    this.#insert(place, x);
    if (this.#size > this.#binsMax) this.#joinClosest();
  }

  /** Adds all that another histogram holds. */
  merge(other: Histogram): void {
    const mine = this.#bins;
    const theirs = other.#bins;
    this.#bins = [];
    this.#size = 0;
    this.#count += other.#count;
    let m = 0;
    let t = 0;
    while (m < mine.length || t < theirs.length) {
      const takeMine = t >= theirs.length || (m < mine.length && mine[m + LO]! <= theirs[t + LO]!);
      this.#append(takeMine ? mine : theirs, takeMine ? m : t);
      if (takeMine) m += STRIDE;
      else t += STRIDE;
    }
    while (this.#size > this.#binsMax) this.#joinClosest();
  }

  /**
   * How many values are no greater than `x`: exact outside of bins of several values, and within them as if their
   * values stood at equal distances.
   */
  sum(x: number): number {
    const place = this.#placeOf(x);
    let total = 0;
    for (let bin = 0; bin < place - 1; bin++) total += this.#bins[bin * STRIDE]!;
    if (place === 0) return total;
    const at = (place - 1) * STRIDE;
    const n = this.#bins[at]!;
    const lo = this.#bins[at + LO]!;
    const hi = this.#bins[at + HI]!;
    return total + (x >= hi ? n : 1 + ((n - 1) * (x - lo)) / (hi - lo));
  }

  /**
   * The value of nearest rank: the least such that at least `q` of all values are no greater.
   *
   * @param q in [0, 1]
   * @returns NaN for no values
   */
  quantile(q: number): number {
    let rank = Math.max(1, Math.ceil(q * this.#count));
    for (let at = 0; at < this.#size * STRIDE; at += STRIDE) {
      const n = this.#bins[at]!;
      if (rank > n) {
        rank -= n;
        continue;
      }
      const lo = this.#bins[at + LO]!;
      const hi = this.#bins[at + HI]!;
      if (rank === n) return hi;
      return lo + ((hi - lo) * (rank - 1)) / (n - 1);
    }
    return Number.NaN;
  }

  /** The distribution that the bins stand for; their probabilities add up to 1. Empty for no values. */
  segments(): Segment[] {
    return Array.from({ length: this.#size }, (_, place) => {
      const at = place * STRIDE;
      return {
        from: this.#bins[at + LO]!,
        to: this.#bins[at + HI]!,
        p: this.#bins[at]! / this.#count,
      };
    });
  }

  save(): SavedBin[] {
    const bins = this.#bins;
    const saved: SavedBin[] = [];
    for (let at = 0; at < bins.length; at += STRIDE) {
      const lo = bins[at + LO]!;
      saved.push(bins[at] === 1 ? lo : [bins[at]!, bins[at + SUM]!, lo, bins[at + HI]!]);
    }
    return saved;
  }

  /** @param saved by `save`; joined until they are no more than `binsMax` */
  static load(saved: readonly SavedBin[], binsMax: number = BINS_MAX): Histogram {
    const histogram = new Histogram(binsMax);
    histogram.#size = saved.length;
    for (const bin of saved) {
      const whole = typeof bin === 'number' ? ([1, bin, bin, bin] as const) : bin;
      histogram.#bins.push(...whole);
      histogram.#count += whole[0];
    }
    while (histogram.#size > binsMax) histogram.#joinClosest();
    return histogram;
  }

  /** How many bins begin at `x` or before. */
  #placeOf(x: number): number {
    let low = 0;
    let high = this.#size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#bins[middle * STRIDE + LO]! <= x) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** A bin of one value. */
  #insert(place: number, x: number): void {
    const bins = this.#bins;
    const at = place * STRIDE;
    if (this.#size === 0) this.#bins = [1, x, x, x];
    else {
      bins.push(1, x, x, x);
      // By hand: a plain array's own copyWithin takes ten times as long.
      for (let i = bins.length - 1; i >= at + STRIDE; i--) bins[i] = bins[i - STRIDE]!;
      bins[at] = 1;
      bins[at + SUM] = x;
      bins[at + LO] = x;
      bins[at + HI] = x;
    }
    this.#size++;
  }

  /** Behind all others; joins the last one if they overlap. */
  #append(from: readonly number[], at: number): void {
    const bins = this.#bins;
    const last = (this.#size - 1) * STRIDE;
    if (this.#size > 0 && from[at + LO]! <= bins[last + HI]!) {
      bins[last]! += from[at]!;
      bins[last + SUM]! += from[at + SUM]!;
      bins[last + HI] = Math.max(bins[last + HI]!, from[at + HI]!);
      return;
    }
    bins.push(from[at]!, from[at + SUM]!, from[at + LO]!, from[at + HI]!);
    this.#size++;
  }

  /** The first such pair on ties. */
  #joinClosest(): void {
    const bins = this.#bins;
    let closest = 0;
    let least = Infinity;
    let before = bins[SUM]! / bins[0]!;
    for (let at = STRIDE; at < this.#size * STRIDE; at += STRIDE) {
      const centroid = bins[at + SUM]! / bins[at]!;
      const gap = centroid - before;
      if (gap < least) {
        least = gap;
        closest = at - STRIDE;
      }
      before = centroid;
    }
    const next = closest + STRIDE;
    bins[closest]! += bins[next]!;
    bins[closest + SUM]! += bins[next + SUM]!;
    bins[closest + HI] = bins[next + HI]!;
    for (let i = next + STRIDE; i < bins.length; i++) bins[i - STRIDE] = bins[i]!;
    bins.length -= STRIDE;
    this.#size--;
  }
}
