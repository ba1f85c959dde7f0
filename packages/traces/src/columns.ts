/** Where columns of numbers come from. */
export interface Columns {
  /** One that nobody else has, of zeros. */
  take(length: number): Float64Array;
}

/** Each in memory of its own, which is free when it is. */
export const OWN_COLUMNS: Columns = { take: (length) => new Float64Array(length) };

/** 64 kB. */
const BLOCK_LENGTH = 8_192;

/**
 * Many columns in one piece of memory, which is free when all of them are: for a small one, memory of its own takes
 * longer to get than to fill.
 */
export class ColumnBlocks implements Columns {
  #block = new Float64Array();
  #taken = 0;

  take(length: number): Float64Array {
    const end = this.#taken + length;
    if (end <= this.#block.length) {
      const column = this.#block.subarray(this.#taken, end);
      this.#taken = end;
      return column;
    }
    if (length >= BLOCK_LENGTH) return new Float64Array(length);
    this.#block = new Float64Array(BLOCK_LENGTH);
    this.#taken = length;
    return this.#block.subarray(0, length);
  }
}
