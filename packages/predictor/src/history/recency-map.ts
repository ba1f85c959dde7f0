import { invariant } from '@goshawk/core';

interface Entry<V> {
  readonly key: number;
  readonly value: V;
  older: Entry<V> | undefined;
  newer: Entry<V> | undefined;
}

/**
 * A map of bounded size with LRU eviction. It uses a linked list, because deleting a key of a `Map` and setting it again
 * is slow: deleted entries stay in the table's chains until it is rebuilt, and each `set` walks past all of them.
 */
export class RecencyMap<V> implements Iterable<readonly [number, V]> {
  readonly #sizeMax: number;
  readonly #entries = new Map<number, Entry<V>>();
  #oldest: Entry<V> | undefined;
  #newest: Entry<V> | undefined;

  /** @param sizeMax at least one */
  constructor(sizeMax: number) {
    invariant(sizeMax >= 1, `a map of ${sizeMax} values is useless: at least one is needed`);
    this.#sizeMax = sizeMax;
  }

  /** Returns a value without marking it as used. */
  peek(key: number): V | undefined {
    return this.#entries.get(key)?.value;
  }

  /** Returns a value and marks it as used; undefined if it is absent. */
  use(key: number): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry !== this.#newest) {
      this.#unlink(entry);
      this.#link(entry);
    }
    return entry.value;
  }

  /** Adds a new key, used now. Evicts the least recently used one if there are too many. */
  add(key: number, value: V): void {
    const entry: Entry<V> = { key, value, older: undefined, newer: undefined };
    this.#entries.set(key, entry);
    this.#link(entry);
    if (this.#entries.size <= this.#sizeMax) return;
    const oldest = this.#oldest!;
    this.#unlink(oldest);
    this.#entries.delete(oldest.key);
  }

  /** Iterates from the least recently used entry to the latest. */
  *[Symbol.iterator](): Generator<readonly [number, V]> {
    for (let entry = this.#oldest; entry !== undefined; entry = entry.newer) yield [entry.key, entry.value];
  }

  #link(entry: Entry<V>): void {
    entry.older = this.#newest;
    entry.newer = undefined;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
  }

  #unlink({ older, newer }: Entry<V>): void {
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
  }
}
