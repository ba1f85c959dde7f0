import { grown } from '@goshawk/core';
import type { Entry } from './entry.js';
import { EntryNumbers } from './entry-numbers.js';

/**
 * What waits at all workers of a process: FIFOs that can also be looked through, and have some of their entries taken out.
 * They are linked lists of nodes, columns both, so that what comes and goes at thousands of workers lies close together
 * and fits into a processor's cache, which a simulation lives from.
 */
export class EntryLists {
  /** By queue: how many entries its lists have. Thieves ask for that only, and of any queue. */
  #waiting = new Int32Array(INITIAL);
  /** By queue: a count of its owner's; then of each list its first node and its last one. */
  #rows = new Int32Array(INITIAL);
  #queues = 0;
  /** By node: the one behind it in its list, or of a free one the next that is free; then the number of its entry. */
  #nodes = new Int32Array(INITIAL);
  #nodeCount = 0;
  #free = NONE;
  readonly #entries = new EntryNumbers();

  /** @returns the number of a new queue, whose lists are empty */
  addQueue(): number {
    const queue = this.#queues++;
    const end = ROW * this.#queues;
    if (queue === this.#waiting.length) this.#waiting = grown(this.#waiting, this.#queues);
    if (end > this.#rows.length) this.#rows = grown(this.#rows, end);
    this.#rows.fill(NONE, listOf(queue, 0), end);
    return queue;
  }

  /** How many entries the lists of a queue have. */
  waiting(queue: number): number {
    return this.#waiting[queue]!;
  }

  /** What was counted of the queue. */
  counted(queue: number): number {
    return this.#rows[ROW * queue + COUNTED]!;
  }

  count(queue: number, change: 1 | -1): void {
    this.#rows[ROW * queue + COUNTED]! += change;
  }

  isEmpty(list: number): boolean {
    return this.#rows[list] === NONE;
  }

  first(list: number): Entry | undefined {
    const head = this.#rows[list]!;
    return head === NONE ? undefined : this.#entryAt(head);
  }

  push(list: number, entry: Entry): void {
    this.#insertAfter(list, this.#rows[list + TAIL]!, entry);
  }

  /** Puts the entry behind the last one that goes ahead of it, or first. */
  insert(list: number, entry: Entry, goesAhead: (other: Entry) => boolean): void {
    let last = NONE;
    for (let node = this.#rows[list]!; node !== NONE; node = this.#next(node)) {
      if (goesAhead(this.#entryAt(node))) last = node;
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
    let node = this.#rows[list]!;
    while (node !== NONE && passesOver(this.#entryAt(node))) {
      before = node;
      node = this.#next(node);
    }
    while (node !== NONE && taken.length < limit && matches(this.#entryAt(node))) {
      node = this.#next(node);
      taken.push(this.#takeAfter(list, before));
    }
    return taken;
  }

  /** Takes out what matches and returns it in order. */
  removeWhere(list: number, matches: (entry: Entry) => boolean): Entry[] {
    const removed: Entry[] = [];
    let before = NONE;
    for (let node = this.#rows[list]!; node !== NONE; ) {
      const next = this.#next(node);
      if (matches(this.#entryAt(node))) removed.push(this.#takeAfter(list, before));
      else before = node;
      node = next;
    }
    return removed;
  }

  some(list: number, matches: (entry: Entry) => boolean): boolean {
    for (let node = this.#rows[list]!; node !== NONE; node = this.#next(node)) {
      if (matches(this.#entryAt(node))) return true;
    }
    return false;
  }

  *entriesOf(list: number): Iterable<Entry> {
    for (let node = this.#rows[list]!; node !== NONE; node = this.#next(node)) {
      yield this.#entryAt(node);
    }
  }

  #next(node: number): number {
    return this.#nodes[NODE * node]!;
  }

  #entryAt(node: number): Entry {
    return this.#entries.get(this.#nodes[NODE * node + ENTRY]!);
  }

  /** @param before NONE: the entry becomes the first */
  #insertAfter(list: number, before: number, entry: Entry): void {
    const node = this.#takeNode();
    const nodes = this.#nodes;
    nodes[NODE * node + ENTRY] = this.#entries.use(entry);
    if (before === NONE) {
      nodes[NODE * node] = this.#rows[list]!;
      this.#rows[list] = node;
    } else {
      nodes[NODE * node] = nodes[NODE * before]!;
      nodes[NODE * before] = node;
    }
    if (before === this.#rows[list + TAIL]) this.#rows[list + TAIL] = node;
    this.#waiting[list >> ROW_BITS]!++;
  }

  /** @param before NONE: the first is taken out */
  #takeAfter(list: number, before: number): Entry {
    const nodes = this.#nodes;
    const node = before === NONE ? this.#rows[list]! : nodes[NODE * before]!;
    if (before === NONE) this.#rows[list] = nodes[NODE * node]!;
    else nodes[NODE * before] = nodes[NODE * node]!;
    if (node === this.#rows[list + TAIL]) this.#rows[list + TAIL] = before;
    this.#waiting[list >> ROW_BITS]!--;
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

/** A list of a queue, the first being 0: where its row tells of it. */
export function listOf(queue: number, index: number): number {
  return ROW * queue + LISTS + FIELDS * index;
}

/** Of a queue. */
export const LISTS_EACH = 3;

/** No node. */
const NONE = -1;

// Places in a row, which is half a line of a cache.
const COUNTED = 0;
const LISTS = 2;
/** Of a list: its first node, then its last one. */
const FIELDS = 2;
const TAIL = 1;
/** A power of two, so that from any place in a row its queue is told. */
const ROW = 8;
const ROW_BITS = 3;

/** Numbers of a node. */
const NODE = 2;
const ENTRY = 1;

const INITIAL = 64;
