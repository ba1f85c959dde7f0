import { sumOf } from '../numbers/sums.js';

type Column = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array;

/**
 * Returns a column with room for at least `size` numbers and at least twice the old length, with the old
 * contents.
 */
export function grown<T extends Column>(column: T, size: number): T {
  const Kind = column.constructor as new (length: number) => T;
  const wider = new Kind(Math.max(size, 2 * column.length));
  wider.set(column);
  return wider;
}

/** Copies the columns into one new buffer. */
export function concatenated(
  columns: readonly ArrayLike<number>[],
  memory: (length: number) => Float64Array = (length) => new Float64Array(length),
): Float64Array {
  const all = memory(sumOf(columns, ({ length }) => length));
  let end = 0;
  for (const column of columns) {
    all.set(column, end);
    end += column.length;
  }
  return all;
}

const INITIAL_CAPACITY = 1_024;

/** A growable array of numbers that allocates at most twice the space it uses. */
export class Samples {
  #values = new Float64Array(INITIAL_CAPACITY);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) this.#values = grown(this.#values, this.#length + 1);
    this.#values[this.#length++] = value;
  }

  /** All samples, as a view that is valid until the next push. */
  values(): Float64Array<ArrayBuffer> {
    return this.#values.subarray(0, this.#length);
  }

  /**
   * Sorts the samples in place and returns them in ascending order, as a view that is valid until the next
   * push.
   */
  sorted(): Float64Array {
    const values = this.values();
    // The bit patterns of nonnegative doubles sort like the doubles; comparing them takes half the time.
    new BigUint64Array(values.buffer, 0, values.length).sort();
    // Negative numbers and NaN sort last by bits, which shows that a regular sort is needed.
    return isUnsigned(values.at(-1) ?? 0) ? values : values.sort();
  }
}

function isUnsigned(value: number): boolean {
  return value > 0 || Object.is(value, 0);
}
