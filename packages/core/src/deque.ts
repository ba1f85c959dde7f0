/**
 * A FIFO that can also be looked into and cut. Entries live in one array with a moving head: taking from
 * the front is O(1) amortised, and what a thief or a cancellation removes from the middle costs the length
 * of what lies behind it, which at a worker is short.
 */
export class Deque<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  at(index: number): T | undefined {
    return this.#items[this.#head + index];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    if (this.#head === this.#items.length) {
      this.#items.length = 0;
      this.#head = 0;
    } else if (this.#head > 32 && this.#head * 2 > this.#items.length) {
      this.#items.splice(0, this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** Removes `count` items from `index` on and returns them in order. */
  cut(index: number, count: number): T[] {
    return this.#items.splice(this.#head + index, count) as T[];
  }

  /** Removes what matches and returns it in order. */
  removeWhere(matches: (item: T) => boolean): T[] {
    const removed: T[] = [];
    let write = this.#head;
    for (let read = this.#head; read < this.#items.length; read++) {
      const item = this.#items[read] as T;
      if (matches(item)) removed.push(item);
      else this.#items[write++] = item;
    }
    this.#items.length = write;
    return removed;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let i = this.#head; i < this.#items.length; i++) yield this.#items[i] as T;
  }
}
