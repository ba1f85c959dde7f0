import { type Amounts, TOLERANCE } from './amounts.js';

/** What a task needs of the resources that are limited, the largest part of the share first. */
export interface Need {
  readonly resources: Int32Array;
  readonly amounts: Float64Array;
}

const INITIAL_STEPS = 64;

/**
 * What is used of a share over time: a step function, by resource. Times are whole ms. Plans are filled from their end, so
 * the latest step comes first: what is inserted is near the end of the arrays. The amounts of all steps lie in one array,
 * since a plan looks at some hundred thousand of them.
 */
export class Profile {
  readonly #share: Amounts;
  readonly #width: number;
  /** Where each step begins, descending; the first has no end. */
  readonly #times: number[] = [0];
  /** By step, then by resource. */
  #free: Float64Array;
  /** Where the tasks fit that were looked for last. */
  foundMs = 0;

  constructor(share: Amounts, whole: Amounts) {
    this.#share = share;
    this.#width = share.length;
    this.#free = new Float64Array(INITIAL_STEPS * this.#width);
    this.#free.set(Float64Array.from(share, (amount, r) => amount + TOLERANCE * (whole[r] ?? 0)));
  }

  /** What has no room is mostly found out by the first resource. */
  needOf(demand: Amounts): Need {
    const needed: number[] = [];
    for (let r = 0; r < this.#width; r++)
      if ((demand[r] ?? 0) > 0 && this.#share[r]! < Number.POSITIVE_INFINITY) needed.push(r);
    const part = (r: number) => demand[r]! / this.#share[r]!;
    const resources = Int32Array.from(needed.sort((a, b) => part(b) - part(a)));
    return { resources, amounts: Float64Array.from(resources, (r) => demand[r]!) };
  }

  add(fromMs: number, untilMs: number, { resources, amounts }: Need, count: number): void {
    const end = this.#split(untilMs);
    const first = this.#split(fromMs);
    const free = this.#free;
    const width = this.#width;
    for (let i = 0; i < resources.length; i++) {
      const amount = amounts[i]! * count;
      const last = first * width + resources[i]!;
      for (let at = (end + 1) * width + resources[i]!; at <= last; at += width) free[at]! -= amount;
    }
  }

  /**
   * Finds the latest start in `earliest … latest` at which one of the tasks fits for all its time. At `earliest` all of them
   * are taken to fit.
   *
   * @returns how many of them fit there; where, is `foundMs`
   */
  latest(
    earliest: number,
    latest: number,
    durationMs: number,
    { resources, amounts }: Need,
    wanted: number,
  ): number {
    const times = this.#times;
    const free = this.#free;
    const width = this.#width;
    const kinds = resources.length;
    let end = latest + durationMs;
    let count = wanted;
    let step = this.#stepAt(end);
    if (times[step] === end) step++;
    while (end - durationMs > earliest) {
      const row = step * width;
      for (let i = 0; i < kinds; i++) {
        const room = free[row + resources[i]!]!;
        const each = amounts[i]!;
        if (each * count <= room) continue;
        count = Math.floor(room / each);
        if (count <= 0) break;
      }
      const from = times[step]!;
      if (count <= 0) {
        // The task has to end before this step.
        end = from;
        count = wanted;
      } else if (from <= end - durationMs) {
        this.foundMs = end - durationMs;
        return count;
      }
      step++;
    }
    this.foundMs = earliest;
    return wanted;
  }

  /** The step in which the time lies. */
  #stepAt(time: number): number {
    const times = this.#times;
    let low = 0;
    let high = times.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle]! <= time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Makes a step begin at the time. @returns that step */
  #split(time: number): number {
    const step = this.#stepAt(time);
    if (this.#times[step] === time) return step;
    const width = this.#width;
    const used = this.#times.length * width;
    if (used + width > this.#free.length) {
      const more = new Float64Array(2 * this.#free.length);
      more.set(this.#free);
      this.#free = more;
    }
    this.#free.copyWithin((step + 1) * width, step * width, used);
    this.#times.splice(step, 0, time);
    return step;
  }
}
