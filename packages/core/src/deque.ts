/**
 * A FIFO that can also be looked into and cut: a ring that grows by doubling and keeps its room, since what
 * waits at a worker comes and goes all the time. What a thief or a cancellation removes from the middle
 * costs the length of what lies behind it, which at a worker is short.
 */
export class Deque<T> {
  /** A power of two long, or empty. */
  #ring: (T | undefined)[] = NO_RING;
  #head = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  at(index: number): T | undefined {
    if (index >= this.#length) return undefined;
    return this.#ring[(this.#head + index) & (this.#ring.length - 1)];
  }

  push(item: T): void {
    if (this.#length === this.#ring.length) this.#grow();
    this.#ring[(this.#head + this.#length++) & (this.#ring.length - 1)] = item;
  }

  /** Puts the item before the one that is at `index` now; what comes after that moves on by one. */
  insert(index: number, item: T): void {
    this.push(item);
    const mask = this.#ring.length - 1;
    for (let i = this.#length - 1; i > index; i--) {
      this.#ring[(this.#head + i) & mask] = this.#ring[(this.#head + i - 1) & mask];
    }
    this.#ring[(this.#head + index) & mask] = item;
  }

  shift(): T | undefined {
    if (this.#length === 0) return undefined;
    const item = this.#ring[this.#head];
    this.#ring[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#ring.length - 1);
    this.#length--;
    return item;
  }

  /** Removes `count` items from `index` on, or as many as there are, and returns them in order. */
  cut(index: number, count: number): T[] {
    const end = Math.min(this.#length, index + count);
    let position = 0;
    return this.removeWhere(() => {
      const here = position++;
      return here >= index && here < end;
    });
  }

  /** Removes what matches and returns it in order. */
  removeWhere(matches: (item: T) => boolean): T[] {
    const mask = this.#ring.length - 1;
    const removed: T[] = [];
    let write = 0;
    for (let read = 0; read < this.#length; read++) {
      const item = this.#ring[(this.#head + read) & mask] as T;
      if (matches(item)) removed.push(item);
      else this.#ring[(this.#head + write++) & mask] = item;
    }
    for (let i = write; i < this.#length; i++) this.#ring[(this.#head + i) & mask] = undefined;
    this.#length = write;
    return removed;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let i = 0; i < this.#length; i++) yield this.at(i) as T;
  }

  #grow(): void {
    const before = this.#ring;
    const ring = new Array<T | undefined>(Math.max(INITIAL, 2 * before.length)).fill(undefined);
    for (let i = 0; i < this.#length; i++) ring[i] = before[(this.#head + i) & (before.length - 1)];
    this.#ring = ring;
    this.#head = 0;
  }
}

const INITIAL = 4;
/** Of those that never held anything. */
const NO_RING: undefined[] = [];
