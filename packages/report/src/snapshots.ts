import { grown } from '@goshawk/core';
import { MeasurementError } from './errors.js';

/** Ten years of trace time at a snapshot each 100 s are 3 million; more is a wrong unit or a wrong start. */
const SNAPSHOTS_MAX = 10_000_000;

/**
 * Counts, at regular instants, how many intervals are open: busy slots, or waiting tasks.
 *
 * Snapshot k is taken `k · intervalSeconds` after the run began, for k = 0, 1, 2, …, and an interval
 * [from, to) is open at an instant t when from ≤ t < to. Only changes from one snapshot to the next are
 * stored, so an interval costs two additions however long it is and whenever it is reported.
 */
export class Snapshots {
  readonly intervalSeconds: number;
  #changes = new Float64Array(1024);

  constructor(intervalSeconds: number) {
    if (!(intervalSeconds > 0) || !Number.isFinite(intervalSeconds)) {
      throw new MeasurementError(
        `a snapshot each ${intervalSeconds} s is not possible: give an interval above 0`,
      );
    }
    this.intervalSeconds = intervalSeconds;
  }

  /** Adds one open interval, in seconds since the run began. */
  add(fromSeconds: number, toSeconds: number): void {
    const first = this.#indexAtOrAfter(fromSeconds);
    const end = this.#indexAtOrAfter(toSeconds);
    if (end <= first) return;
    this.#change(first, 1);
    this.#change(end, -1);
  }

  /** The count at each snapshot k ≥ 1 that is not after `untilSeconds`; that of snapshot k stands at k − 1. */
  until(untilSeconds: number): Float64Array {
    const last = Math.floor(untilSeconds / this.intervalSeconds);
    const counts = new Float64Array(Math.max(0, last));
    let open = this.#changes[0]!;
    for (let index = 1; index <= last; index += 1) {
      open += this.#changes[index] ?? 0;
      counts[index - 1] = open;
    }
    return counts;
  }

  #indexAtOrAfter(seconds: number): number {
    return Math.max(0, Math.ceil(seconds / this.intervalSeconds));
  }

  #change(index: number, by: number): void {
    if (index >= this.#changes.length) {
      if (index > SNAPSHOTS_MAX) {
        throw new MeasurementError(
          `a snapshot each ${this.intervalSeconds} s over this run makes more than ${SNAPSHOTS_MAX}: ` +
            'take a longer interval, or check that times count from the beginning of the run',
        );
      }
      this.#changes = grown(this.#changes, index + 1);
    }
    this.#changes[index] = this.#changes[index]! + by;
  }
}
