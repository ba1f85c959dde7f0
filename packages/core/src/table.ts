import { grown } from './columns.js';

const KINDS = { u8: Uint8Array, i32: Int32Array, u32: Uint32Array, f64: Float64Array };

type Kind = keyof typeof KINDS;
type Shape = Readonly<Record<string, Kind>>;

/** Rows of numbers, each field a typed column: `table.field[row]`. A column is replaced when the table grows. */
export type Table<S extends Shape> = { readonly [Name in keyof S]: InstanceType<(typeof KINDS)[S[Name]]> } & {
  /** Rows. */
  readonly size: number;
  /** @returns the first of so many new rows, whose numbers are 0; default: one */
  add(rows?: number): number;
};

/**
 * An empty table: `table({ kind: 'u8', owner: 'i32', since: 'f64' })`. What thousands of machines keep lies close together
 * in it, and so in a processor's cache, where an object for each would not.
 */
export function table<S extends Shape>(shape: S): Table<S> {
  return new Rows(shape) as unknown as Table<S>;
}

class Rows {
  [name: string]: unknown;
  readonly #names: readonly string[];
  size = 0;

  constructor(shape: Shape) {
    this.#names = Object.keys(shape);
    for (const name of this.#names) this[name] = new KINDS[shape[name]!](0);
  }

  add(rows = 1): number {
    const first = this.size;
    this.size += rows;
    for (const name of this.#names) {
      const column = this[name] as InstanceType<(typeof KINDS)[Kind]>;
      if (column.length < this.size) this[name] = grown(column, this.size);
    }
    return first;
  }
}
