import { table } from './table.js';

/** No node. */
const NONE = -1;

/**
 * FIFO queues that support iteration, insertion and removal anywhere. All lists share one pool of nodes, so
 * that thousands of short lists stay close together in memory.
 */
export class LinkedLists<T> {
  /** `first` and `last` are valid if `length` is above 0. */
  readonly #lists = table({ first: 'i32', last: 'i32', length: 'i32' });
  /** `next` links the free nodes. */
  readonly #nodes = table({ next: 'i32' });
  readonly #items: (T | undefined)[] = [];
  #free = NONE;

  /** Adds empty lists. @returns the number of the first */
  add(lists: number): number {
    return this.#lists.add(lists);
  }

  length(list: number): number {
    return this.#lists.length[list]!;
  }

  isEmpty(list: number): boolean {
    return this.#lists.length[list] === 0;
  }

  first(list: number): T | undefined {
    return this.isEmpty(list) ? undefined : this.#items[this.#lists.first[list]!];
  }

  push(list: number, item: T): void {
    this.#insertAfter(list, this.isEmpty(list) ? NONE : this.#lists.last[list]!, item);
  }

  /** Inserts the item after the last one that goes ahead of it, or first. */
  insert(list: number, item: T, goesAhead: (other: T) => boolean): void {
    // Usually the item belongs at the end, and lists may be long.
    if (this.isEmpty(list) || goesAhead(this.#items[this.#lists.last[list]!]!)) return this.push(list, item);
    let last = NONE;
    for (let node = this.#firstNode(list); node !== NONE; node = this.#nodes.next[node]!) {
      if (goesAhead(this.#items[node]!)) last = node;
    }
    this.#insertAfter(list, last, item);
  }

  shift(list: number): T | undefined {
    return this.isEmpty(list) ? undefined : this.#takeAfter(list, NONE);
  }

  /** Skips leading items that `skips` accepts; removes and returns the items after them that match. */
  takeRun(list: number, skips: (item: T) => boolean, matches: (item: T) => boolean, limit: number): T[] {
    const taken: T[] = [];
    let before = NONE;
    let node = this.#firstNode(list);
    while (node !== NONE && skips(this.#items[node]!)) {
      before = node;
      node = this.#nodes.next[node]!;
    }
    while (node !== NONE && taken.length < limit && matches(this.#items[node]!)) {
      node = this.#nodes.next[node]!;
      taken.push(this.#takeAfter(list, before));
    }
    return taken;
  }

  /** Removes and returns matching items, in order. @param limit maximum number of items */
  removeWhere(list: number, matches: (item: T) => boolean, limit = Number.POSITIVE_INFINITY): T[] {
    const removed: T[] = [];
    let before = NONE;
    let node = this.#firstNode(list);
    while (node !== NONE && removed.length < limit) {
      const next = this.#nodes.next[node]!;
      if (matches(this.#items[node]!)) removed.push(this.#takeAfter(list, before));
      else before = node;
      node = next;
    }
    return removed;
  }

  *items(list: number): Iterable<T> {
    for (let node = this.#firstNode(list); node !== NONE; node = this.#nodes.next[node]!) {
      yield this.#items[node]!;
    }
  }

  #firstNode(list: number): number {
    return this.isEmpty(list) ? NONE : this.#lists.first[list]!;
  }

  /** @param before NONE: insert at the front */
  #insertAfter(list: number, before: number, item: T): void {
    const lists = this.#lists;
    const node = this.#takeNode();
    const { next } = this.#nodes;
    this.#items[node] = item;
    next[node] = before === NONE ? this.#firstNode(list) : next[before]!;
    if (before === NONE) lists.first[list] = node;
    else next[before] = node;
    if (next[node] === NONE) lists.last[list] = node;
    lists.length[list]!++;
  }

  /** @param before NONE: remove the first node */
  #takeAfter(list: number, before: number): T {
    const lists = this.#lists;
    const { next } = this.#nodes;
    const node = before === NONE ? lists.first[list]! : next[before]!;
    const after = next[node]!;
    if (before === NONE) lists.first[list] = after;
    else next[before] = after;
    if (after === NONE) lists.last[list] = before;
    lists.length[list]!--;
    next[node] = this.#free;
    this.#free = node;
    const item = this.#items[node]!;
    this.#items[node] = undefined;
    return item;
  }

  #takeNode(): number {
    const node = this.#free;
    if (node === NONE) return this.#nodes.add();
    this.#free = this.#nodes.next[node]!;
    return node;
  }
}
