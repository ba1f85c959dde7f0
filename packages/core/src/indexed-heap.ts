/**
 * A binary min-heap of small integers ordered by (key, id), in which each id knows its place: keys change
 * and ids leave in O(log n). Ties go to the lowest id, so the order is the same in every run.
 */
export class IndexedHeap {
  readonly #ids: number[] = [];
  readonly #keys: number[] = [];
  /** Place of each id in the heap, or −1. Indexed by id. */
  readonly #places: number[] = [];

  get size(): number {
    return this.#ids.length;
  }

  has(id: number): boolean {
    return (this.#places[id] ?? -1) >= 0;
  }

  /** The id of least key, or −1 when empty. */
  top(): number {
    return this.#ids.length === 0 ? -1 : this.#ids[0]!;
  }

  topKey(): number {
    return this.#ids.length === 0 ? Number.POSITIVE_INFINITY : this.#keys[0]!;
  }

  keyOf(id: number): number | undefined {
    const place = this.#places[id] ?? -1;
    return place < 0 ? undefined : this.#keys[place];
  }

  /** Adds the id, or moves it to its new key. */
  set(id: number, key: number): void {
    const place = this.#places[id] ?? -1;
    if (place < 0) {
      while (this.#places.length <= id) this.#places.push(-1);
      this.#ids.push(id);
      this.#keys.push(key);
      this.#places[id] = this.#ids.length - 1;
      this.#up(this.#ids.length - 1);
    } else {
      this.#keys[place] = key;
      this.#up(place);
      this.#down(this.#places[id]!);
    }
  }

  delete(id: number): boolean {
    const place = this.#places[id] ?? -1;
    if (place < 0) return false;
    this.#places[id] = -1;
    const lastId = this.#ids.pop()!;
    const lastKey = this.#keys.pop()!;
    if (lastId !== id) {
      this.#ids[place] = lastId;
      this.#keys[place] = lastKey;
      this.#places[lastId] = place;
      this.#up(place);
      this.#down(this.#places[lastId]!);
    }
    return true;
  }

  /** In no particular order. */
  ids(): readonly number[] {
    return this.#ids;
  }

  #before(a: number, b: number): boolean {
    return (
      this.#keys[a]! < this.#keys[b]! || (this.#keys[a]! === this.#keys[b]! && this.#ids[a]! < this.#ids[b]!)
    );
  }

  #swap(a: number, b: number): void {
    const id = this.#ids[a]!;
    const key = this.#keys[a]!;
    this.#ids[a] = this.#ids[b]!;
    this.#keys[a] = this.#keys[b]!;
    this.#ids[b] = id;
    this.#keys[b] = key;
    this.#places[this.#ids[a]!] = a;
    this.#places[id] = b;
  }

  #up(from: number): void {
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!this.#before(place, parent)) break;
      this.#swap(place, parent);
      place = parent;
    }
  }

  #down(from: number): void {
    let place = from;
    for (;;) {
      const left = 2 * place + 1;
      if (left >= this.#ids.length) break;
      const right = left + 1;
      const least = right < this.#ids.length && this.#before(right, left) ? right : left;
      if (!this.#before(least, place)) break;
      this.#swap(place, least);
      place = least;
    }
  }
}
