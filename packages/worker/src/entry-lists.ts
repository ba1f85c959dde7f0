import { grown, LANES } from '@goshawk/core';
import type { Entry } from './entry.js';

/**
 * What waits at all workers of a process: FIFOs that can also be looked through, and have some of their entries taken out.
 * They are linked lists of nodes, columns both, so that what comes and goes at thousands of workers lies close together
 * and fits into a processor's cache, which a simulation lives from.
 */
export class EntryLists {
  /** By queue: all entries of its lists. */
  #waiting = new Int32Array(INITIAL);
  #queues = 0;
  /** Two numbers a list: its first node, and its last one. */
  #lists = new Int32Array(INITIAL);
  /** By node. */
  readonly #entries: (Entry | undefined)[] = [];
  /** By node: the one behind it in its list; of a free one, the next that is free. */
  #next = new Int32Array(INITIAL);
  #free = NONE;

  /** @returns the number of a new queue, whose lists are empty: `LISTS_EACH` from `LISTS_EACH` times that number on */
  addQueue(): number {
    const queue = this.#queues++;
    const end = LISTS_EACH * this.#queues;
    if (queue === this.#waiting.length) this.#waiting = grown(this.#waiting, this.#queues);
    if (FIELDS * end > this.#lists.length) this.#lists = grown(this.#lists, FIELDS * end);
    for (let list = LISTS_EACH * queue; list < end; list++) {
      this.#lists[FIELDS * list + HEAD] = NONE;
      this.#lists[FIELDS * list + TAIL] = NONE;
    }
    return queue;
  }

  /** How many entries the lists of a queue have. */
  waiting(queue: number): number {
    return this.#waiting[queue]!;
  }

  isEmpty(list: number): boolean {
    return this.#lists[FIELDS * list + HEAD] === NONE;
  }

  first(list: number): Entry | undefined {
    const head = this.#lists[FIELDS * list + HEAD]!;
    return head === NONE ? undefined : this.#entries[head];
  }

  push(list: number, entry: Entry): void {
    this.#insertAfter(list, this.#lists[FIELDS * list + TAIL]!, entry);
  }

  /** Puts the entry behind the last one that goes ahead of it, or first. */
  insert(list: number, entry: Entry, goesAhead: (other: Entry) => boolean): void {
    let last = NONE;
    for (let node = this.#lists[FIELDS * list + HEAD]!; node !== NONE; node = this.#next[node]!) {
      if (goesAhead(this.#entries[node]!)) last = node;
    }
    this.#insertAfter(list, last, entry);
  }

  shift(list: number): Entry | undefined {
    return this.isEmpty(list) ? undefined : this.#takeAfter(list, NONE);
  }

  /** Passes over entries from the first on, then takes out those that follow while they match, in order. */
  takeRun(
    list: number,
    passesOver: (entry: Entry) => boolean,
    matches: (entry: Entry) => boolean,
    limit: number,
  ): Entry[] {
    const taken: Entry[] = [];
    let before = NONE;
    let node = this.#lists[FIELDS * list + HEAD]!;
    while (node !== NONE && passesOver(this.#entries[node]!)) {
      before = node;
      node = this.#next[node]!;
    }
    while (node !== NONE && taken.length < limit && matches(this.#entries[node]!)) {
      node = this.#next[node]!;
      taken.push(this.#takeAfter(list, before));
    }
    return taken;
  }

  /** Takes out what matches and returns it in order. */
  removeWhere(list: number, matches: (entry: Entry) => boolean): Entry[] {
    const removed: Entry[] = [];
    let before = NONE;
    for (let node = this.#lists[FIELDS * list + HEAD]!; node !== NONE; ) {
      const next = this.#next[node]!;
      if (matches(this.#entries[node]!)) removed.push(this.#takeAfter(list, before));
      else before = node;
      node = next;
    }
    return removed;
  }

  some(list: number, matches: (entry: Entry) => boolean): boolean {
    for (let node = this.#lists[FIELDS * list + HEAD]!; node !== NONE; node = this.#next[node]!) {
      if (matches(this.#entries[node]!)) return true;
    }
    return false;
  }

  *entriesOf(list: number): Iterable<Entry> {
    for (let node = this.#lists[FIELDS * list + HEAD]!; node !== NONE; node = this.#next[node]!) {
      yield this.#entries[node]!;
    }
  }

  /** @param before NONE: the entry becomes the first */
  #insertAfter(list: number, before: number, entry: Entry): void {
    const at = FIELDS * list;
    const node = this.#takeNode(entry);
    if (before === NONE) {
      this.#next[node] = this.#lists[at + HEAD]!;
      this.#lists[at + HEAD] = node;
    } else {
      this.#next[node] = this.#next[before]!;
      this.#next[before] = node;
    }
    if (before === this.#lists[at + TAIL]) this.#lists[at + TAIL] = node;
    this.#waiting[Math.floor(list / LISTS_EACH)]!++;
  }

  /** @param before NONE: the first is taken out */
  #takeAfter(list: number, before: number): Entry {
    const at = FIELDS * list;
    const node = before === NONE ? this.#lists[at + HEAD]! : this.#next[before]!;
    const entry = this.#entries[node]!;
    if (before === NONE) this.#lists[at + HEAD] = this.#next[node]!;
    else this.#next[before] = this.#next[node]!;
    if (node === this.#lists[at + TAIL]) this.#lists[at + TAIL] = before;
    this.#waiting[Math.floor(list / LISTS_EACH)]!--;
    this.#entries[node] = undefined;
    this.#next[node] = this.#free;
    this.#free = node;
    return entry;
  }

  #takeNode(entry: Entry): number {
    let node = this.#free;
    if (node === NONE) {
      node = this.#entries.length;
      if (node === this.#next.length) this.#next = grown(this.#next, node + 1);
      this.#entries.push(entry);
    } else {
      this.#free = this.#next[node]!;
      this.#entries[node] = entry;
    }
    return node;
  }
}

/** Of a queue. */
export const LISTS_EACH = LANES.length;

/** No node. */
const NONE = -1;

const FIELDS = 2;
const HEAD = 0;
const TAIL = 1;

const INITIAL = 64;
