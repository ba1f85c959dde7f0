/** A FIFO queue backed by a ring buffer, which doubles when full and never shrinks. */
export class Deque<T> {
  /** Its length is 0 or a power of two. */
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

  shift(): T | undefined {
    if (this.#length === 0) return undefined;
    const item = this.#ring[this.#head];
    this.#ring[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#ring.length - 1);
    this.#length--;
    return item;
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
/** Shared by deques that never had an item. */
const NO_RING: undefined[] = [];
