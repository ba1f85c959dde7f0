/** Numbers that arrive one by one, kept in eight bytes each: a list of full blocks and one being filled. */
export class Column {
  static readonly #blockLength = 65_536;
  readonly #blocks: Float64Array[] = [];
  #block = new Float64Array(Column.#blockLength);
  #used = 0;

  get length(): number {
    return this.#blocks.length * Column.#blockLength + this.#used;
  }

  push(value: number): void {
    if (this.#used === Column.#blockLength) {
      this.#blocks.push(this.#block);
      this.#block = new Float64Array(Column.#blockLength);
      this.#used = 0;
    }
    this.#block[this.#used++] = value;
  }

  toArray(): Float64Array {
    const all = new Float64Array(this.length);
    this.#blocks.forEach((block, i) => {
      all.set(block, i * Column.#blockLength);
    });
    all.set(this.#block.subarray(0, this.#used), this.#blocks.length * Column.#blockLength);
    return all;
  }
}
