import { grown } from '@goshawk/core';
import { MeasurementError } from './errors.js';

/** Limit above which every second snapshot is dropped, repeatedly: three years at one per 100 s. */
const SNAPSHOTS_MAX = 1_000_000;

/**
 * Counts, at regular instants, how many intervals are open: busy slots, or waiting tasks.
 *
 * Snapshot k is taken `k · intervalSeconds` after the run began, for k = 0, 1, 2, …, and an interval
 * [from, to) is open at an instant t when from ≤ t < to. Only changes from one snapshot to the next are
 * stored, so an interval costs two additions however long it is and whenever it is reported.
 */
export class Snapshots {
  #intervalSeconds: number;
  #changes = new Float64Array(1024);

  constructor(intervalSeconds: number) {
    if (!(intervalSeconds > 0) || !Number.isFinite(intervalSeconds)) {
      throw new MeasurementError(
        `a snapshot each ${intervalSeconds} s is not possible: give an interval above 0`,
      );
    }
    this.#intervalSeconds = intervalSeconds;
  }

  /** Grows with the run. */
  get intervalSeconds(): number {
    return this.#intervalSeconds;
  }

  /** Leaves out snapshots until there is one each so many seconds, which is a multiple by a power of two. */
  widenTo(intervalSeconds: number): void {
    while (this.#intervalSeconds < intervalSeconds) this.#widen();
  }

  /** Adds one open interval, in seconds since the run began. */
  add(fromSeconds: number, toSeconds: number): void {
    while (toSeconds / this.#intervalSeconds > SNAPSHOTS_MAX) this.#widen();
    const first = this.#indexAtOrAfter(fromSeconds);
    const end = this.#indexAtOrAfter(toSeconds);
    if (end <= first) return;
    this.#change(first, 1);
    this.#change(end, -1);
  }

  /** The count at each snapshot k ≥ 1 that is not after `untilSeconds`; that of snapshot k stands at k − 1. */
  until(untilSeconds: number): Float64Array {
    while (untilSeconds / this.#intervalSeconds > SNAPSHOTS_MAX) this.#widen();
    const last = Math.floor(untilSeconds / this.#intervalSeconds);
    const counts = new Float64Array(Math.max(0, last));
    let open = this.#changes[0]!;
    for (let index = 1; index <= last; index += 1) {
      open += this.#changes[index] ?? 0;
      counts[index - 1] = open;
    }
    return counts;
  }

  #widen(): void {
    const before = this.#changes;
    this.#changes = new Float64Array((before.length >> 1) + 1);
    // Applies the change to the first remaining snapshot at or after it.
    for (const [index, by] of before.entries()) if (by !== 0) this.#changes[(index + 1) >> 1]! += by;
    this.#intervalSeconds *= 2;
  }

  #indexAtOrAfter(seconds: number): number {
    return Math.max(0, Math.ceil(seconds / this.#intervalSeconds));
  }

  #change(index: number, by: number): void {
    if (index >= this.#changes.length) this.#changes = grown(this.#changes, index + 1);
    this.#changes[index] = this.#changes[index]! + by;
  }
}
