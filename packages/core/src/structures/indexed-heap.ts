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
  #places = new Int32Array(INITIAL);
  readonly #ranks: ArrayLike<number> | undefined;

  /** @param ranks by id: break ties between equal keys */
  constructor(ranks?: ArrayLike<number>) {
    this.#ranks = ranks;
  }

  get size(): number {
    return this.#size;
  }

  has(id: number): boolean {
    return this.#placeOf(id) >= 0;
  }

  /** The id with the smallest key; −1 if empty. */
  top(): number {
    return this.#size === 0 ? -1 : this.#ids[0]!;
  }

  topKey(): number {
    return this.#size === 0 ? Number.POSITIVE_INFINITY : this.#keys[0]!;
  }

  keyOf(id: number): number | undefined {
    const place = this.#placeOf(id);
    return place < 0 ? undefined : this.#keys[place];
  }

  /** Adds the id, or moves it to its new key. */
  set(id: number, key: number): void {
    const place = this.#placeOf(id);
    if (place >= 0) return this.#move(place, id, key);
    if (id >= this.#places.length) this.#places = grown(this.#places, id + 1);
    if (this.#size === this.#ids.length) {
      this.#ids = grown(this.#ids, this.#size + 1);
      this.#keys = grown(this.#keys, this.#size + 1);
    }
    this.#up(this.#size++, id, key);
  }

  delete(id: number): boolean {
    const place = this.#placeOf(id);
    if (place < 0) return false;
    this.#places[id] = 0;
    const last = --this.#size;
    if (place < last) this.#move(place, this.#ids[last]!, this.#keys[last]!);
    return true;
  }

  /** Whether the first of two ids in the heap sorts before the other. */
  isBefore(id: number, other: number): boolean {
    return this.#precedes(id, this.keyOf(id)!, this.#placeOf(other));
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
      const place = next[0]!;
      const last = next.pop()!;
      if (next.length > 0) this.#siftDown(next, last);
      const end = Math.min(2 * place + 3, this.#size);
      for (let child = 2 * place + 1; child < end; child++) this.#siftUp(next, child);
      yield this.#ids[place]!;
    }
  }

  /** Adds a position to a heap of positions. */
  #siftUp(heap: number[], place: number): void {
    let at = heap.push(place) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isPlaceBefore(place, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = place;
  }

  /** Replaces the first position of a heap of positions. */
  #siftDown(heap: number[], place: number): void {
    let at = 0;
    for (let least = 1; least < heap.length; least = 2 * at + 1) {
      if (least + 1 < heap.length && this.#isPlaceBefore(heap[least + 1]!, heap[least]!)) least++;
      if (this.#isPlaceBefore(place, heap[least]!)) break;
      heap[at] = heap[least]!;
      at = least;
    }
    heap[at] = place;
  }

  #isPlaceBefore(place: number, other: number): boolean {
    return this.#precedes(this.#ids[place]!, this.#keys[place]!, other);
  }

  #placeOf(id: number): number {
    return id < this.#places.length ? this.#places[id]! - 1 : -1;
  }

  /** Moves the id from a position to where its key belongs. */
  #move(place: number, id: number, key: number): void {
    if (place > 0 && this.#precedes(id, key, (place - 1) >> 1)) this.#up(place, id, key);
    else this.#down(place, id, key);
  }

  #precedes(id: number, key: number, place: number): boolean {
    const there = this.#keys[place]!;
    if (key !== there) return key < there;
    const other = this.#ids[place]!;
    return this.#ranks === undefined ? id < other : this.#ranks[id]! < this.#ranks[other]!;
  }

  #put(place: number, id: number, key: number): void {
    this.#ids[place] = id;
    this.#keys[place] = key;
    this.#places[id] = place + 1;
  }

  /** Moves the entry towards the root. It moves a hole instead of swapping, so that each entry is written once. */
  #up(from: number, id: number, key: number): void {
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!this.#precedes(id, key, parent)) break;
      this.#put(place, this.#ids[parent]!, this.#keys[parent]!);
      place = parent;
    }
    this.#put(place, id, key);
  }

  #down(from: number, id: number, key: number): void {
    let place = from;
    for (;;) {
      let least = 2 * place + 1;
      if (least >= this.#size) break;
      const right = least + 1;
      if (right < this.#size && this.#precedes(this.#ids[right]!, this.#keys[right]!, least)) least = right;
      if (this.#precedes(id, key, least)) break;
      this.#put(place, this.#ids[least]!, this.#keys[least]!);
      place = least;
    }
    this.#put(place, id, key);
  }
}

const INITIAL = 8;
