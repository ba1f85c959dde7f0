import { type Amounts, addAmounts, countWithin } from './amounts.js';

/** What is used of a share over time: a step function, by resource. Times are whole ms. */
export class Profile {
  readonly #share: Amounts;
  readonly #whole: Amounts;
  /** Where each step begins, ascending; the last has no end. */
  readonly #times: number[] = [0];
  /** What is free in each step. */
  readonly #free: Float64Array[];

  constructor(share: Amounts, whole: Amounts) {
    this.#share = share;
    this.#whole = whole;
    this.#free = [Float64Array.from(share)];
  }

  add(fromMs: number, untilMs: number, demand: Amounts, count: number): void {
    const first = this.#split(fromMs);
    const end = this.#split(untilMs);
    for (let step = first; step < end; step++) addAmounts(this.#free[step]!, demand, -count);
  }

  /**
   * The latest start in `earliest … latest` at which one of the tasks fits for all its time, and how many of them fit
   * there. At `earliest` all of them are taken to fit.
   */
  latest(
    earliest: number,
    latest: number,
    durationMs: number,
    demand: Amounts,
    wanted: number,
  ): { atMs: number; count: number } {
    let at = latest;
    while (at > earliest) {
      let count = wanted;
      let step = this.#stepAt(at);
      for (; step < this.#times.length && this.#times[step]! < at + durationMs; step++) {
        count = countWithin(demand, this.#free[step]!, this.#whole, count);
        if (count === 0) break;
      }
      if (count > 0) return { atMs: at, count };
      // The task has to end before the step in which it does not fit.
      at = this.#times[step]! - durationMs;
    }
    return { atMs: earliest, count: wanted };
  }

  /** Largest use over the share at any time; 0 or less while all is within it. For checks. */
  excess(): number {
    let most = Number.NEGATIVE_INFINITY;
    for (const free of this.#free) {
      for (let r = 0; r < free.length; r++) {
        if (this.#share[r]! < Number.POSITIVE_INFINITY) most = Math.max(most, -free[r]!);
      }
    }
    return most;
  }

  /** The step in which the time lies. */
  #stepAt(time: number): number {
    let low = 0;
    let high = this.#times.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#times[middle]! <= time) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Makes a step begin at the time. @returns that step */
  #split(time: number): number {
    const step = this.#stepAt(time);
    if (this.#times[step] === time) return step;
    this.#times.splice(step + 1, 0, time);
    this.#free.splice(step + 1, 0, Float64Array.from(this.#free[step]!));
    return step + 1;
  }
}
