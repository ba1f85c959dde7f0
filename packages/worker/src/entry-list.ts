import { type EntryPool, NO_NODE } from './entry-pool.js';
import type { Entry } from './queue.js';

/**
 * A FIFO of entries that can also be looked through, and have some of its entries taken out. Its nodes lie in a pool
 * that it shares with others.
 */
export class EntryList {
  readonly #pool: EntryPool;
  #head = NO_NODE;
  #tail = NO_NODE;
  #length = 0;

  constructor(pool: EntryPool) {
    this.#pool = pool;
  }

  get length(): number {
    return this.#length;
  }

  get first(): Entry | undefined {
    return this.#length === 0 ? undefined : this.#pool.at(this.#head);
  }

  push(entry: Entry): void {
    this.#insertAfter(this.#tail, entry);
  }

  /** Puts the entry behind the last one that goes ahead of it, or first. */
  insert(entry: Entry, goesAhead: (other: Entry) => boolean): void {
    let last = NO_NODE;
    for (let node = this.#head; node !== NO_NODE; node = this.#pool.next(node)) {
      if (goesAhead(this.#pool.at(node))) last = node;
    }
    this.#insertAfter(last, entry);
  }

  shift(): Entry | undefined {
    return this.#length === 0 ? undefined : this.#takeAfter(NO_NODE);
  }

  /** Passes over entries from the first on, then takes out those that follow while they match, in order. */
  takeRun(passesOver: (entry: Entry) => boolean, matches: (entry: Entry) => boolean, limit: number): Entry[] {
    const taken: Entry[] = [];
    let before = NO_NODE;
    let node = this.#head;
    while (node !== NO_NODE && passesOver(this.#pool.at(node))) {
      before = node;
      node = this.#pool.next(node);
    }
    while (node !== NO_NODE && taken.length < limit && matches(this.#pool.at(node))) {
      node = this.#pool.next(node);
      taken.push(this.#takeAfter(before));
    }
    return taken;
  }

  /** Takes out what matches and returns it in order. */
  removeWhere(matches: (entry: Entry) => boolean): Entry[] {
    const removed: Entry[] = [];
    let before = NO_NODE;
    for (let node = this.#head; node !== NO_NODE; ) {
      const next = this.#pool.next(node);
      if (matches(this.#pool.at(node))) removed.push(this.#takeAfter(before));
      else before = node;
      node = next;
    }
    return removed;
  }

  *[Symbol.iterator](): Iterator<Entry> {
    for (let node = this.#head; node !== NO_NODE; node = this.#pool.next(node)) yield this.#pool.at(node);
  }

  /** @param before NO_NODE: the entry becomes the first */
  #insertAfter(before: number, entry: Entry): void {
    const node = this.#pool.take(entry);
    if (before === NO_NODE) {
      this.#pool.link(node, this.#head);
      this.#head = node;
    } else {
      this.#pool.link(node, this.#pool.next(before));
      this.#pool.link(before, node);
    }
    if (before === this.#tail) this.#tail = node;
    this.#length++;
  }

  /** @param before NO_NODE: the first is taken out */
  #takeAfter(before: number): Entry {
    const node = before === NO_NODE ? this.#head : this.#pool.next(before);
    const entry = this.#pool.at(node);
    const next = this.#pool.next(node);
    if (before === NO_NODE) this.#head = next;
    else this.#pool.link(before, next);
    if (node === this.#tail) this.#tail = before;
    this.#pool.release(node);
    this.#length--;
    return entry;
  }
}
