import { sumOf } from './sums.js';

type Column = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array;

/** The column with room for `size` numbers, and for twice as many as before; what was in it stays where it was. */
export function grown<T extends Column>(column: T, size: number): T {
  const Kind = column.constructor as new (length: number) => T;
  const wider = new Kind(Math.max(size, 2 * column.length));
  wider.set(column);
  return wider;
}

/** The columns, concatenated in a separate buffer. */
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

/** Numbers that arrive one by one, kept in eight bytes each, or twice that. */
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

  /** All of them, a view that is good until the next push. */
  values(): Float64Array<ArrayBuffer> {
    return this.#values.subarray(0, this.#length);
  }

  /** Sorts in place and gives the ascending values, a view that is good until the next push. */
  sorted(): Float64Array {
    const values = this.values();
    // Numbers of no sign are in the order of their bits, which need no look at what they mean: half the time.
    new BigUint64Array(values.buffer, 0, values.length).sort();
    // Those with one, and what is no number, come last then.
    return isUnsigned(values.at(-1) ?? 0) ? values : values.sort();
  }
}

function isUnsigned(value: number): boolean {
  return value > 0 || Object.is(value, 0);
}
