import { firstIndex } from '@goshawk/core';
import { type Amounts, TOLERANCE } from '@goshawk/policies';

/** A task's demand of limited resources, largest share first. */
interface Need {
  readonly resources: Int32Array;
  readonly amounts: Float64Array;
}

/** Maximum number of steps per chunk; the run time of a task spans a few dozen. */
const CHUNK_STEPS = 32;

/**
 * Free amounts of a share over time, as a step function per resource with the latest step first. Steps are
 * grouped in chunks: a chunk with room everywhere, or whose steps all change, is handled as a whole.
 */
export class Profile {
  readonly #share: Amounts;
  readonly #chunks: Chunk[];
  /** Result of the last search. */
  foundMs = 0;

  constructor(share: Amounts, whole: Amounts) {
    this.#share = share;
    const free = Float64Array.from(share, (amount, r) => amount + TOLERANCE * (whole[r] ?? 0));
    this.#chunks = [new Chunk([0], free, share.length)];
  }

  /**
   * Returns the demand of limited resources, largest share first, because that resource rejects most tasks.
   */
  needOf(demand: Amounts): Need {
    const needed: number[] = [];
    for (let r = 0; r < this.#share.length; r++)
      if ((demand[r] ?? 0) > 0 && this.#share[r]! < Number.POSITIVE_INFINITY) needed.push(r);
    const part = (r: number) => demand[r]! / this.#share[r]!;
    const resources = Int32Array.from(needed.sort((a, b) => part(b) - part(a)));
    return { resources, amounts: Float64Array.from(resources, (r) => demand[r]!) };
  }

  add(fromMs: number, untilMs: number, need: Need, count: number): void {
    this.#split(fromMs);
    this.#split(untilMs);
    for (let place = this.#chunkAt(untilMs - 1); ; place++) {
      const chunk = this.#chunks[place]!;
      chunk.take(chunk.stepAt(untilMs - 1), chunk.stepAt(fromMs), need, count);
      if (chunk.fromMs <= fromMs) return;
    }
  }

  /**
   * Finds the latest start in `earliest … latest` at which one of the tasks fits for its whole duration. At
   * `earliest` all of them are assumed to fit.
   *
   * @returns how many of them fit there; `foundMs` is the time
   */
  latest(earliest: number, latest: number, durationMs: number, need: Need, wanted: number): number {
    let start = latest;
    let count = wanted;
    for (let place = this.#chunkAt(start + durationMs - 1); start > earliest; place++) {
      const chunk = this.#chunks[place]!;
      const { times } = chunk;
      // If the chunk has room at every step, only its earliest step is checked.
      let step = chunk.hasRoom(need, count) ? times.length - 1 : chunk.stepAt(start + durationMs - 1);
      for (; step < times.length && start > earliest; step++) {
        count = chunk.fitting(step, need, count);
        if (count <= 0) {
          // The task must end before this step.
          start = times[step]! - durationMs;
          count = wanted;
        } else if (times[step]! <= start) {
          this.foundMs = start;
          return count;
        }
      }
    }
    this.foundMs = earliest;
    return wanted;
  }

  /** Index of the chunk that contains the time. */
  #chunkAt(time: number): number {
    return firstIndex(this.#chunks.length - 1, (index) => this.#chunks[index]!.fromMs <= time);
  }

  #split(time: number): void {
    const place = this.#chunkAt(time);
    const chunk = this.#chunks[place]!;
    const step = chunk.stepAt(time);
    if (chunk.times[step] === time) return;
    chunk.split(step, time);
    if (chunk.times.length === CHUNK_STEPS) this.#chunks.splice(place, 1, ...chunk.halves());
  }
}

/** A chunk of consecutive steps. */
class Chunk {
  /** Start of each step, descending. */
  readonly times: number[];
  /** Free amounts by step, then by resource, not yet reduced by `#owed`. */
  readonly #free: Float64Array;
  readonly #owed: Float64Array;
  /** Minimum free amount over its steps, by resource. */
  readonly #least: Float64Array;

  /** @param free by step, then by resource */
  constructor(times: number[], free: Float64Array, width: number) {
    this.times = times;
    this.#free = new Float64Array(CHUNK_STEPS * width);
    this.#free.set(free);
    this.#owed = new Float64Array(width);
    this.#least = new Float64Array(width).fill(Number.POSITIVE_INFINITY);
    for (let at = 0; at < free.length; at++)
      this.#least[at % width] = Math.min(this.#least[at % width]!, free[at]!);
  }

  /** Start of its earliest step. */
  get fromMs(): number {
    return this.times[this.times.length - 1]!;
  }

  /** The first step that starts at this time or before. */
  stepAt(time: number): number {
    return firstIndex(this.times.length, (index) => this.times[index]! <= time);
  }

  /** Whether this many fit at each of its steps. */
  hasRoom({ resources, amounts }: Need, count: number): boolean {
    for (let i = 0; i < resources.length; i++)
      if (amounts[i]! * count > this.#least[resources[i]!]!) return false;
    return true;
  }

  /** @returns how many fit at the step, up to `wanted` */
  fitting(step: number, { resources, amounts }: Need, wanted: number): number {
    const row = step * this.#owed.length;
    let count = wanted;
    for (let i = 0; i < resources.length; i++) {
      const r = resources[i]!;
      const room = this.#free[row + r]! - this.#owed[r]!;
      const each = amounts[i]!;
      if (each * count <= room) continue;
      count = Math.floor(room / each);
      if (count <= 0) return 0;
    }
    return count;
  }

  /** Reserves resources for this many tasks at these steps. */
  take(first: number, last: number, { resources, amounts }: Need, count: number): void {
    const width = this.#owed.length;
    const isWhole = first === 0 && last >= this.times.length - 1;
    const end = Math.min(last + 1, this.times.length) * width;
    for (let i = 0; i < resources.length; i++) {
      const r = resources[i]!;
      const amount = amounts[i]! * count;
      if (isWhole) {
        this.#owed[r]! += amount;
        this.#least[r]! -= amount;
        continue;
      }
      let least = this.#least[r]! + this.#owed[r]!;
      for (let at = first * width + r; at < end; at += width) {
        const free = this.#free[at]! - amount;
        this.#free[at] = free;
        if (free < least) least = free;
      }
      this.#least[r] = least - this.#owed[r]!;
    }
  }

  split(step: number, time: number): void {
    const width = this.#owed.length;
    this.#free.copyWithin((step + 1) * width, step * width, this.times.length * width);
    this.times.splice(step, 0, time);
  }

  halves(): [Chunk, Chunk] {
    const width = this.#owed.length;
    const half = this.times.length >> 1;
    const end = this.times.length * width;
    const free = this.#free;
    for (let at = 0; at < end; at++) free[at]! -= this.#owed[at % width]!;
    return [
      new Chunk(this.times.slice(0, half), free.subarray(0, half * width), width),
      new Chunk(this.times.slice(half), free.subarray(half * width, end), width),
    ];
  }
}
