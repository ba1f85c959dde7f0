import { grown } from './columns.js';

/**
 * A binary min-heap of small integers ordered by (key, id). Changing a key or deleting an id takes O(log n).
 * Ties go to the lowest id, or to the lowest rank if ids have ranks, so that every run gives the same order.
 */
export class IndexedHeap {
  /** Ids by heap position. */
  #ids = new Int32Array(INITIAL);
  #keys = new Float64Array(INITIAL);
  #size = 0;
  /** Heap position of each id plus one; 0: not in the heap. Indexed by id. */
  #indices = new Int32Array(INITIAL);
  readonly #ranks: ArrayLike<number> | undefined;

  /** @param ranks by id: break ties between equal keys */
  constructor(ranks?: ArrayLike<number>) {
    this.#ranks = ranks;
  }

  get size(): number {
    return this.#size;
  }

  has(id: number): boolean {
    return this.#indexOf(id) >= 0;
  }

  /** The id with the smallest key; −1 if empty. */
  top(): number {
    return this.#size === 0 ? -1 : this.#ids[0]!;
  }

  topKey(): number {
    return this.#size === 0 ? Number.POSITIVE_INFINITY : this.#keys[0]!;
  }

  keyOf(id: number): number | undefined {
    const index = this.#indexOf(id);
    return index < 0 ? undefined : this.#keys[index];
  }

  /** Adds the id, or moves it to its new key. */
  set(id: number, key: number): void {
    const index = this.#indexOf(id);
    if (index >= 0) return this.#move(index, id, key);
    if (id >= this.#indices.length) this.#indices = grown(this.#indices, id + 1);
    if (this.#size === this.#ids.length) {
      this.#ids = grown(this.#ids, this.#size + 1);
      this.#keys = grown(this.#keys, this.#size + 1);
    }
    this.#up(this.#size++, id, key);
  }

  delete(id: number): boolean {
    const index = this.#indexOf(id);
    if (index < 0) return false;
    this.#indices[id] = 0;
    const last = --this.#size;
    if (index < last) this.#move(index, this.#ids[last]!, this.#keys[last]!);
    return true;
  }

  /** Whether the first of two ids in the heap sorts before the other. */
  isBefore(id: number, other: number): boolean {
    return this.#precedes(id, this.keyOf(id)!, this.#indexOf(other));
  }

  /** All ids, in no particular order. */
  ids(): Iterable<number> {
    return this.#ids.subarray(0, this.#size);
  }

  /** All ids in order. The heap must not change meanwhile. */
  *inOrder(): Iterable<number> {
    // A heap of the positions whose parents were already returned. Callers usually take only a few ids.
    const next = this.#size > 0 ? [0] : [];
    while (next.length > 0) {
      const index = next[0]!;
      const last = next.pop()!;
      if (next.length > 0) this.#siftDown(next, last);
      const end = Math.min(2 * index + 3, this.#size);
      for (let child = 2 * index + 1; child < end; child++) this.#siftUp(next, child);
      yield this.#ids[index]!;
    }
  }

  /** Adds a position to a heap of positions. */
  #siftUp(heap: number[], index: number): void {
    let at = heap.push(index) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isIndexBefore(index, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = index;
  }

  /** Replaces the first position of a heap of positions. */
  #siftDown(heap: number[], index: number): void {
    let at = 0;
    for (let least = 1; least < heap.length; least = 2 * at + 1) {
      if (least + 1 < heap.length && this.#isIndexBefore(heap[least + 1]!, heap[least]!)) least++;
      if (this.#isIndexBefore(index, heap[least]!)) break;
      heap[at] = heap[least]!;
      at = least;
    }
    heap[at] = index;
  }

  #isIndexBefore(index: number, other: number): boolean {
    return this.#precedes(this.#ids[index]!, this.#keys[index]!, other);
  }

  #indexOf(id: number): number {
    return id < this.#indices.length ? this.#indices[id]! - 1 : -1;
  }

  /** Moves the id from a position to where its key belongs. */
  #move(index: number, id: number, key: number): void {
    if (index > 0 && this.#precedes(id, key, (index - 1) >> 1)) this.#up(index, id, key);
    else this.#down(index, id, key);
  }

  #precedes(id: number, key: number, index: number): boolean {
    const there = this.#keys[index]!;
    if (key !== there) return key < there;
    const other = this.#ids[index]!;
    return this.#ranks === undefined ? id < other : this.#ranks[id]! < this.#ranks[other]!;
  }

  #put(index: number, id: number, key: number): void {
    this.#ids[index] = id;
    this.#keys[index] = key;
    this.#indices[id] = index + 1;
  }

  /** Moves the entry towards the root. It moves a hole instead of swapping, so that each entry is written once. */
  #up(from: number, id: number, key: number): void {
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#precedes(id, key, parent)) break;
      this.#put(index, this.#ids[parent]!, this.#keys[parent]!);
      index = parent;
    }
    this.#put(index, id, key);
  }

  #down(from: number, id: number, key: number): void {
    let index = from;
    for (;;) {
      let least = 2 * index + 1;
      if (least >= this.#size) break;
      const right = least + 1;
      if (right < this.#size && this.#precedes(this.#ids[right]!, this.#keys[right]!, least)) least = right;
      if (this.#precedes(id, key, least)) break;
      this.#put(index, this.#ids[least]!, this.#keys[least]!);
      index = least;
    }
    this.#put(index, id, key);
  }
}

const INITIAL = 8;
