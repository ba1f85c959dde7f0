const NONE = -1;

/**
 * A segment tree of integers that finds the first index, from a given one, whose integer is large enough, in
 * O(log n).
 */
export class MaxTree {
  /** Number of leaves: a power of two. */
  #width = 1;
  /** The larger value of each node's children; the leaves start at `#width`. */
  #nodes = new Int32Array(2).fill(NONE);

  /** −1: not set. */
  at(index: number): number {
    return index < this.#width ? this.#nodes[this.#width + index]! : NONE;
  }

  /** @param value −1 to 2^31 − 1; −1: nothing */
  set(index: number, value: number): void {
    if (index >= this.#width) {
      if (value === NONE) return;
      this.#widen(index + 1);
    }
    const nodes = this.#nodes;
    let node = this.#width + index;
    if (nodes[node] === value) return;
    nodes[node] = value;
    for (node >>= 1; node > 0; node >>= 1) {
      const left = nodes[2 * node]!;
      const right = nodes[2 * node + 1]!;
      const largest = left > right ? left : right;
      if (nodes[node] === largest) return;
      nodes[node] = largest;
    }
  }

  /** The largest integer; −1: none is set. */
  largest(): number {
    return this.#nodes[1]!;
  }

  /** The lowest index, from this one on, with an integer of at least this value; −1: none. */
  firstFrom(index: number, value: number): number {
    const nodes = this.#nodes;
    const width = this.#width;
    if (index >= width || nodes[1]! < value) return NONE;
    let node = width + index;
    while (nodes[node]! < value) {
      while ((node & 1) === 1) node >>= 1;
      if (node === 0) return NONE;
      node++;
    }
    while (node < width) {
      node *= 2;
      if (nodes[node]! < value) node++;
    }
    return node - width;
  }

  #widen(size: number): void {
    const before = this.#nodes.subarray(this.#width);
    while (this.#width < size) this.#width *= 2;
    this.#nodes = new Int32Array(2 * this.#width).fill(NONE);
    this.#nodes.set(before, this.#width);
    for (let node = this.#width - 1; node > 0; node--) {
      this.#nodes[node] = Math.max(this.#nodes[2 * node]!, this.#nodes[2 * node + 1]!);
    }
  }
}
