/** Hash index of rows: open addressing with linear probing and backward-shift deletion. */
export class RowIndex {
  /** Row plus one; 0: free. */
  readonly #slots: Uint32Array;
  readonly #mask: number;
  readonly #hashOf: (row: number) => number;

  /** @param size a power of two above the maximum number of rows */
  constructor(size: number, hashOf: (row: number) => number) {
    this.#slots = new Uint32Array(size);
    this.#mask = size - 1;
    this.#hashOf = hashOf;
  }

  /** Adds a row, which must not be in the index. */
  add(row: number): void {
    let slot = this.#hashOf(row) & this.#mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & this.#mask;
    this.#slots[slot] = row + 1;
  }

  /** The rows with this hash. */
  *rowsOf(hash: number): Iterable<number> {
    if (this.#slots.length === 0) return;
    for (let slot = hash & this.#mask; this.#slots[slot] !== 0; slot = (slot + 1) & this.#mask) {
      const row = this.#slots[slot]! - 1;
      if (this.#hashOf(row) === hash) yield row;
    }
  }

  /** Removes a row that is in the index. */
  remove(row: number): void {
    let gap = this.#hashOf(row) & this.#mask;
    while (this.#slots[gap] !== row + 1) gap = (gap + 1) & this.#mask;
    for (let next = (gap + 1) & this.#mask; this.#slots[next] !== 0; next = (next + 1) & this.#mask) {
      const home = this.#hashOf(this.#slots[next]! - 1) & this.#mask;
      // The row may move into the gap if the gap is not before its home.
      if (((next - home) & this.#mask) < ((next - gap) & this.#mask)) continue;
      this.#slots[gap] = this.#slots[next]!;
      gap = next;
    }
    this.#slots[gap] = 0;
  }
}
