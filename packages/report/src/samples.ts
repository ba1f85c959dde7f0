import { grown } from '@goshawk/core';

const INITIAL_CAPACITY = 1024;

/**
 * A growing column of numbers. A simulation of Google's trace queues some 14 million tasks, which as a
 * typed array is 112 MB and sorts natively.
 */
export class Samples {
  #values = new Float64Array(INITIAL_CAPACITY);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) this.#values = grown(this.#values, this.#length + 1);
    this.#values[this.#length] = value;
    this.#length += 1;
  }

  /** Sorts in place and gives the ascending values, a view that is good until the next push. */
  sorted(): Float64Array {
    const values = this.#values.subarray(0, this.#length);
    // Numbers of no sign are in the order of their bits, which need no look at what they mean: half the time.
    new BigUint64Array(values.buffer, 0, values.length).sort();
    // Those with one, and what is no number, come last then.
    return isUnsigned(values.at(-1) ?? 0) ? values : values.sort();
  }
}

function isUnsigned(value: number): boolean {
  return value > 0 || Object.is(value, 0);
}

/** Merges two ascending samples into one. */
export function mergeSorted(left: Float64Array, right: Float64Array): Float64Array {
  const merged = new Float64Array(left.length + right.length);
  let fromLeft = 0;
  let fromRight = 0;
  for (let index = 0; index < merged.length; index += 1) {
    const takeLeft =
      fromRight === right.length || (fromLeft < left.length && left[fromLeft]! <= right[fromRight]!);
    merged[index] = takeLeft ? left[fromLeft]! : right[fromRight]!;
    if (takeLeft) fromLeft += 1;
    else fromRight += 1;
  }
  return merged;
}
