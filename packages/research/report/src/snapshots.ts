import { grown } from '@goshawk/core';
import { MeasurementError } from './errors.js';

/** Above this limit every second snapshot is dropped. It suffices for three years at one per 100 s. */
const SNAPSHOTS_MAX = 1_000_000;

/**
 * Counts open intervals, such as busy CPUs or waiting tasks, at regular instants.
 *
 * Snapshot k is taken `k · intervalSeconds` after the run began, for k = 0, 1, 2, …, and an interval [from,
 * to) is open at an instant t if from ≤ t < to. Only changes between snapshots are stored, so an interval
 * costs two additions regardless of its length and the order of reports.
 */
export class Snapshots {
  #intervalSeconds: number;
  #changes = new Float64Array(1024);

  constructor(intervalSeconds: number) {
    if (!(intervalSeconds > 0) || !Number.isFinite(intervalSeconds)) {
      throw new MeasurementError(`snapshot interval of ${intervalSeconds} s: it must be above 0`);
    }
    this.#intervalSeconds = intervalSeconds;
  }

  /** The interval grows with the run. */
  get intervalSeconds(): number {
    return this.#intervalSeconds;
  }

  /** Drops snapshots until they are this far apart, which must be a multiple by a power of two. */
  widenTo(intervalSeconds: number): void {
    while (this.#intervalSeconds < intervalSeconds) this.#widen();
  }

  /** Adds one open interval, or several at once, in seconds since the run began. */
  add(fromSeconds: number, toSeconds: number, count = 1): void {
    while (toSeconds / this.#intervalSeconds > SNAPSHOTS_MAX) this.#widen();
    const first = this.#indexAtOrAfter(fromSeconds);
    const end = this.#indexAtOrAfter(toSeconds);
    if (end <= first) return;
    this.#change(first, count);
    this.#change(end, -count);
  }

  /** Returns the count at each snapshot k ≥ 1 up to `untilSeconds`; that of snapshot k has index k − 1. */
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
    // The change applies to the first remaining snapshot at or after it.
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
