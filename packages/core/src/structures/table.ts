import { grown } from './columns.js';

const KINDS = { u8: Uint8Array, i32: Int32Array, u32: Uint32Array, f64: Float64Array };

type Kind = keyof typeof KINDS;
type Shape = Readonly<Record<string, Kind>>;

/** A table with one typed column per field: `table.field[row]`. Growing replaces the columns. */
export type Table<S extends Shape> = { readonly [Name in keyof S]: InstanceType<(typeof KINDS)[S[Name]]> } & {
  /** Number of rows. */
  readonly size: number;
  /** Adds rows of zeros. @param rows default: one @returns the first new row */
  add(rows?: number): number;
};

/**
 * Creates an empty table: `table({ kind: 'u8', owner: 'i32', since: 'f64' })`. Columns keep the state of
 * thousands of machines close together in memory and in the CPU cache; an object per row would not.
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
