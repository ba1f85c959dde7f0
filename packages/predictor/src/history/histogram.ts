import { invariant } from '@goshawk/core';
import type { Segment } from '../estimator.js';

/** Default maximum number of bins. */
export const BINS_MAX = 80;

/** A saved bin: the number of values, their sum, the least and the greatest; or the value, if there is only one. */
export type SavedBin = number | readonly [n: number, sum: number, lo: number, hi: number];

/** A bin takes four numbers in one array: the number of values, their sum, the least and the greatest. */
const STRIDE = 4;
const SUM = 1;
const BIN_MIN = 2;
const BIN_MAX = 3;

/**
 * Run times as a streaming histogram (Ben-Haim and Tom-Tov, "A Streaming Parallel Decision Tree Algorithm", JMLR
 * 2010, as used by 3σPredict, §4.1): a value outside of all bins gets a new bin, and if there are too many, the two
 * neighbors with the closest centroids are merged.
 *
 * Bins also keep their least and greatest values, and never overlap. Therefore their counts and the bin of each quantile
 * are exact.
 */
export class Histogram {
  readonly #binsMax: number;
  /**
   * Bins as a plain array: most histograms contain one or two values, for which a typed array takes four times the
   * memory.
   */
  #bins: number[] = [];
  #size = 0;
  #count = 0;

  /** @param binsMax at least two */
  constructor(binsMax: number = BINS_MAX) {
    invariant(binsMax >= 2, `a histogram of ${binsMax} bins is useless: at least two are needed`);
    this.#binsMax = binsMax;
  }

  /** Number of values. */
  get count(): number {
    return this.#count;
  }

  /** @param x finite */
  add(x: number): void {
    invariant(Number.isFinite(x), `a run time of ${x} is no number`);
    this.#count++;
    const place = this.#placeOf(x);
    const at = (place - 1) * STRIDE;
    if (place > 0 && x <= this.#bins[at + BIN_MAX]!) {
      this.#bins[at]! += 1;
      this.#bins[at + SUM]! += x;
      return;
    }
    this.#insert(place, x);
    if (this.#size > this.#binsMax) this.#joinClosest();
  }

  /** Returns the distribution, with probabilities that sum to 1. Empty if there are no values. */
  segments(): Segment[] {
    return Array.from({ length: this.#size }, (_, place) => {
      const at = place * STRIDE;
      return {
        from: this.#bins[at + BIN_MIN]!,
        to: this.#bins[at + BIN_MAX]!,
        p: this.#bins[at]! / this.#count,
      };
    });
  }

  save(): SavedBin[] {
    const bins = this.#bins;
    const saved: SavedBin[] = [];
    for (let at = 0; at < bins.length; at += STRIDE) {
      const lo = bins[at + BIN_MIN]!;
      saved.push(bins[at] === 1 ? lo : [bins[at]!, bins[at + SUM]!, lo, bins[at + BIN_MAX]!]);
    }
    return saved;
  }

  /** @param saved by `save`; merged down to `binsMax` bins */
  static load(saved: readonly SavedBin[], binsMax: number = BINS_MAX): Histogram {
    const histogram = new Histogram(binsMax);
    histogram.#size = saved.length;
    for (const bin of saved) {
      const values = typeof bin === 'number' ? ([1, bin, bin, bin] as const) : bin;
      histogram.#bins.push(...values);
      histogram.#count += values[0];
    }
    while (histogram.#size > binsMax) histogram.#joinClosest();
    return histogram;
  }

  /** Returns the number of bins that start at `x` or below. */
  #placeOf(x: number): number {
    let low = 0;
    let high = this.#size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#bins[middle * STRIDE + BIN_MIN]! <= x) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Inserts a bin with one value. */
  #insert(place: number, x: number): void {
    const bins = this.#bins;
    const at = place * STRIDE;
    if (this.#size === 0) this.#bins = [1, x, x, x];
    else {
      bins.push(1, x, x, x);
      // A manual loop: copyWithin of a plain array is ten times slower.
      for (let i = bins.length - 1; i >= at + STRIDE; i--) bins[i] = bins[i - STRIDE]!;
      bins[at] = 1;
      bins[at + SUM] = x;
      bins[at + BIN_MIN] = x;
      bins[at + BIN_MAX] = x;
    }
    this.#size++;
  }

  /** Merges the two neighbors with the closest centroids, the first such pair on ties. */
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
    bins[closest + BIN_MAX] = bins[next + BIN_MAX]!;
    for (let i = next + STRIDE; i < bins.length; i++) bins[i - STRIDE] = bins[i]!;
    bins.length -= STRIDE;
    this.#size--;
  }
}
