import { grown, LANES } from '@goshawk/core';
import type { Entry } from './entry.js';
import { EntryNumbers } from './entry-numbers.js';

/**
 * What waits at all workers of a process: FIFOs that can also be looked through, and have some of their entries taken out. A
 * queue has a few of them, its lists. They are linked lists of nodes, and all is columns, so that what comes and goes at
 * thousands of workers lies close together and fits into a processor's cache, which a simulation lives from.
 */
export class EntryLists {
  /** By queue: how many entries its lists have. */
  #waiting = new Int32Array(INITIAL);
  /** By queue: which of its lists have any, a bit each. Most have one, and nothing need be looked at of the others. */
  #filled = new Uint8Array(INITIAL);
  /** By list, by queue: its first node and its last one, where it has any. */
  readonly #ends = Array.from({ length: LISTS_EACH }, () => new Int32Array(FIELDS * INITIAL));
  #queues = 0;
  /** By node: the one behind it in its list, or of a free one the next that is free; then the number of its entry. */
  #nodes = new Int32Array(INITIAL);
  #nodeCount = 0;
  #free = NONE;
  readonly #entries = new EntryNumbers();

  /** @returns the number of a new queue, whose lists are empty */
  addQueue(): number {
    const queue = this.#queues++;
    if (queue === this.#waiting.length) {
      this.#waiting = grown(this.#waiting, this.#queues);
      this.#filled = grown(this.#filled, this.#queues);
      this.#ends.forEach((ends, list) => {
        this.#ends[list] = grown(ends, FIELDS * this.#queues);
      });
    }
    return queue;
  }

  /** How many entries the lists of a queue have. */
  waiting(queue: number): number {
    return this.#waiting[queue]!;
  }

  /** Nothing waits there: thieves ask for that only, and of any queue. */
  areEmpty(queue: number): boolean {
    return this.#filled[queue] === 0;
  }

  isEmpty(queue: number, list: number): boolean {
    return (this.#filled[queue]! & (1 << list)) === 0;
  }

  first(queue: number, list: number): Entry | undefined {
    const head = this.#head(queue, list);
    return head === NONE ? undefined : this.#entryAt(head);
  }

  push(queue: number, list: number, entry: Entry): void {
    const tail = this.isEmpty(queue, list) ? NONE : this.#ends[list]![FIELDS * queue + TAIL]!;
    this.#insertAfter(queue, list, tail, entry);
  }

  /** Puts the entry behind the last one that goes ahead of it, or first. */
  insert(queue: number, list: number, entry: Entry, goesAhead: (other: Entry) => boolean): void {
    let last = NONE;
    for (let node = this.#head(queue, list); node !== NONE; node = this.#next(node)) {
      if (goesAhead(this.#entryAt(node))) last = node;
    }
    this.#insertAfter(queue, list, last, entry);
  }

  shift(queue: number, list: number): Entry | undefined {
    return this.isEmpty(queue, list) ? undefined : this.#takeAfter(queue, list, NONE);
  }

  /** Passes over entries from the first on, then takes out those that follow while they match, in order. */
  takeRun(
    queue: number,
    list: number,
    passesOver: (entry: Entry) => boolean,
    matches: (entry: Entry) => boolean,
    limit: number,
  ): Entry[] {
    const taken: Entry[] = [];
    let before = NONE;
    let node = this.#head(queue, list);
    while (node !== NONE && passesOver(this.#entryAt(node))) {
      before = node;
      node = this.#next(node);
    }
    while (node !== NONE && taken.length < limit && matches(this.#entryAt(node))) {
      node = this.#next(node);
      taken.push(this.#takeAfter(queue, list, before));
    }
    return taken;
  }

  /** Takes out the first that matches. */
  removeFirst(queue: number, list: number, matches: (entry: Entry) => boolean): Entry | undefined {
    let before = NONE;
    for (let node = this.#head(queue, list); node !== NONE; node = this.#next(node)) {
      if (matches(this.#entryAt(node))) return this.#takeAfter(queue, list, before);
      before = node;
    }
    return undefined;
  }

  /** Takes out what matches and returns it in order. */
  removeWhere(queue: number, list: number, matches: (entry: Entry) => boolean): Entry[] {
    const removed: Entry[] = [];
    let before = NONE;
    for (let node = this.#head(queue, list); node !== NONE; ) {
      const next = this.#next(node);
      if (matches(this.#entryAt(node))) removed.push(this.#takeAfter(queue, list, before));
      else before = node;
      node = next;
    }
    return removed;
  }

  some(queue: number, list: number, matches: (entry: Entry) => boolean): boolean {
    for (let node = this.#head(queue, list); node !== NONE; node = this.#next(node)) {
      if (matches(this.#entryAt(node))) return true;
    }
    return false;
  }

  *entriesOf(queue: number, list: number): Iterable<Entry> {
    for (let node = this.#head(queue, list); node !== NONE; node = this.#next(node)) {
      yield this.#entryAt(node);
    }
  }

  #head(queue: number, list: number): number {
    return this.isEmpty(queue, list) ? NONE : this.#ends[list]![FIELDS * queue]!;
  }

  #next(node: number): number {
    return this.#nodes[NODE * node]!;
  }

  #entryAt(node: number): Entry {
    return this.#entries.get(this.#nodes[NODE * node + ENTRY]!);
  }

  /** @param before NONE: the entry becomes the first */
  #insertAfter(queue: number, list: number, before: number, entry: Entry): void {
    const node = this.#takeNode();
    const nodes = this.#nodes;
    const ends = this.#ends[list]!;
    nodes[NODE * node + ENTRY] = this.#entries.use(entry);
    const isLast = before === NONE ? this.isEmpty(queue, list) : nodes[NODE * before] === NONE;
    if (before === NONE) {
      nodes[NODE * node] = this.#head(queue, list);
      ends[FIELDS * queue] = node;
      this.#filled[queue]! |= 1 << list;
    } else {
      nodes[NODE * node] = nodes[NODE * before]!;
      nodes[NODE * before] = node;
    }
    if (isLast) ends[FIELDS * queue + TAIL] = node;
    this.#waiting[queue]!++;
  }

  /** @param before NONE: the first is taken out */
  #takeAfter(queue: number, list: number, before: number): Entry {
    const nodes = this.#nodes;
    const ends = this.#ends[list]!;
    const node = before === NONE ? ends[FIELDS * queue]! : nodes[NODE * before]!;
    const next = nodes[NODE * node]!;
    if (before !== NONE) nodes[NODE * before] = next;
    else if (next !== NONE) ends[FIELDS * queue] = next;
    else this.#filled[queue]! &= ~(1 << list);
    if (next === NONE) ends[FIELDS * queue + TAIL] = before;
    this.#waiting[queue]!--;
    nodes[NODE * node] = this.#free;
    this.#free = node;
    return this.#entries.release(nodes[NODE * node + ENTRY]!);
  }

  #takeNode(): number {
    const node = this.#free;
    if (node !== NONE) {
      this.#free = this.#nodes[NODE * node]!;
      return node;
    }
    if (NODE * this.#nodeCount === this.#nodes.length)
      this.#nodes = grown(this.#nodes, NODE * (this.#nodeCount + 1));
    return this.#nodeCount++;
  }
}

/** Of a queue, one a lane; eight at most. */
export const LISTS_EACH = LANES.length;

/** No node. */
const NONE = -1;

// Numbers of a list.
const FIELDS = 2;
const TAIL = 1;

// Numbers of a node.
const NODE = 2;
const ENTRY = 1;

const INITIAL = 64;
