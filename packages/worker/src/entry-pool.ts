import type { Entry } from './queue.js';

/**
 * Room for the entries that wait at all workers of a process, as linked lists: a queue that is empty takes none, and
 * what comes and goes at thousands of them lies close together, which a simulation lives from.
 */
export class EntryPool {
  #entries: (Entry | undefined)[] = [];
  /** By node: the one behind it in its list; of a free one, the next that is free. */
  #next = new Int32Array(INITIAL);
  #free = NO_NODE;

  /** @returns the node that holds the entry from now on, the last of its list */
  take(entry: Entry): number {
    let node = this.#free;
    if (node === NO_NODE) node = this.#newNode();
    else this.#free = this.#next[node]!;
    this.#entries[node] = entry;
    this.#next[node] = NO_NODE;
    return node;
  }

  release(node: number): void {
    this.#entries[node] = undefined;
    this.#next[node] = this.#free;
    this.#free = node;
  }

  at(node: number): Entry {
    return this.#entries[node]!;
  }

  next(node: number): number {
    return this.#next[node]!;
  }

  link(node: number, next: number): void {
    this.#next[node] = next;
  }

  #newNode(): number {
    const node = this.#entries.length;
    if (node === this.#next.length) {
      const next = new Int32Array(2 * node);
      next.set(this.#next);
      this.#next = next;
    }
    this.#entries.push(undefined);
    return node;
  }
}

export const NO_NODE = -1;

const INITIAL = 64;
