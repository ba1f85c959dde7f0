import {
  type Address,
  type Attribute,
  type JobNumber,
  LANES,
  type Lane,
  type LinkedLists,
  type Millis,
  mayRun,
  requiresOf,
  type StageIndex,
  type TaskAttempt,
} from '@goshawk/core';
import { type Entry, isPlaced, type TaskRef } from './entry.js';
import type { WorkerMemory } from './memory.js';

/**
 * The queue of a worker: an express lane and a normal lane. Each is FIFO, or sorted by size if owners report sizes; an
 * entry that has waited too long is not overtaken. Hawk's worker has only the normal lane (§3.1); the express lane is
 * for pilots and jobs too small to sample.
 */
export class WorkerQueue {
  readonly #memory: WorkerMemory;
  readonly #lists: LinkedLists<Entry>;
  #row = -1;
  #normal = 0;
  #express = 0;

  /** @param row of the worker */
  constructor(memory: WorkerMemory, row?: number) {
    this.#memory = memory;
    this.#lists = memory.waiting;
    if (row !== undefined) this.at(row);
  }

  /** Moves this view to the queue of a worker. @param row of the worker */
  at(row: number): this {
    this.#row = row;
    this.#normal = LANES.length * row;
    this.#express = this.#normal + 1;
    return this;
  }

  set patienceMs(patienceMs: Millis) {
    this.#memory.workers.patienceMs[this.#row] = patienceMs;
  }

  get length(): number {
    return this.#lists.length(this.#normal) + this.#lists.length(this.#express);
  }

  get isEmpty(): boolean {
    return this.#memory.isQueueEmpty(this.#row);
  }

  push(entry: Entry): void {
    const list = this.#listOf(entry.lane);
    if (entry.sizeMs === 0) this.#lists.push(list, entry);
    else this.#lists.insert(list, entry, (other) => this.#isAheadOf(other, entry));
    if (entry.long && list === this.#normal) this.#memory.workers.longEntries[this.#row]!++;
    const { placedNames } = this.#memory;
    if (placedNames.size > 0 && entry.placed !== undefined)
      placedNames.get(this.#row)?.add(nameOf(entry, entry.placed));
  }

  /** Returns the next entry to serve. */
  head(): Entry | undefined {
    return this.#lists.first(this.#nextList());
  }

  shift(): Entry | undefined {
    const list = this.#nextList();
    const entry = this.#lists.shift(list);
    if (entry === undefined) return undefined;
    if (list === this.#normal) this.#memory.workers.expressRun[this.#row] = 0;
    else if (!this.#lists.isEmpty(this.#normal)) this.#memory.workers.expressRun[this.#row]!++;
    this.#left(entry, list);
    return entry;
  }

  /** Returns the lane to serve next. */
  #nextList(): number {
    if (this.#lists.isEmpty(this.#express)) return this.#normal;
    const isNormalTurn = this.#memory.workers.expressRun[this.#row]! >= EXPRESS_RUN_MAX;
    return isNormalTurn && !this.#lists.isEmpty(this.#normal) ? this.#normal : this.#express;
  }

  /**
   * Removes and returns the probes that a thief may steal (Hawk §3.6, Figure 3): the first run of consecutive short
   * probes behind a long task. While a long task runs, that is the run at the head; while a short one runs, the run
   * behind the first long entry. Taking only one run keeps the stolen probes within few jobs. Express entries that
   * wait for a long task go first.
   *
   * @param executingLong whether the worker runs long work, so that even the head of the queue waits behind it
   * @param limit maximum number of probes
   * @param attributes of the thief; the run ends before the first probe that it may not run
   */
  takeStealable(executingLong: boolean, limit: number, attributes?: readonly Attribute[]): Entry[] {
    // A probe can wait behind a long task only if there is one.
    if (!executingLong && this.longEntries === 0) return [];
    const thief = { attributes: requiresOf(attributes) };
    const isFit = ({ requires }: Entry): boolean => mayRun(thief, { requires: requiresOf(requires) });
    if (executingLong && !this.#lists.isEmpty(this.#express))
      return this.#lists.removeWhere(this.#express, isFit, limit);
    let isBehindLong = executingLong;
    const isSkipped = ({ long }: Entry): boolean => {
      isBehindLong ||= long;
      return long || !isBehindLong;
    };
    return this.#lists.takeRun(this.#normal, isSkipped, (entry) => isStealable(entry) && isFit(entry), limit);
  }

  removeProbes(owner: Address, job: JobNumber, stage: StageIndex): Entry[] {
    return this.#removeWhere(
      (e) => e.placed === undefined && e.job === job && e.owner === owner && e.stage === stage,
    );
  }

  removePlaced(owner: Address, task: TaskRef): Entry | undefined {
    const [entry] = this.#lists.removeWhere(this.#normal, (each) => isPlaced(each, owner, task), 1);
    if (entry !== undefined) this.#left(entry, this.#normal);
    return entry;
  }

  removeOwner(owner: Address): Entry[] {
    return this.#removeWhere((entry) => entry.owner === owner);
  }

  removeAll(): Entry[] {
    return this.#removeWhere(() => true);
  }

  /** Returns whether the placed task is queued. Placed tasks are always in the normal lane. */
  has(owner: Address, task: TaskRef): boolean {
    if (this.length > SCANNED_MAX) return this.#placedHere().has(nameOf({ owner, job: task.job }, task));
    for (const entry of this.#lists.items(this.#normal)) if (isPlaced(entry, owner, task)) return true;
    return false;
  }

  /** Number of long entries in the normal lane. */
  get longEntries(): number {
    return this.#memory.workers.longEntries[this.#row]!;
  }

  *[Symbol.iterator](): Iterator<Entry> {
    yield* this.#lists.items(this.#express);
    yield* this.#lists.items(this.#normal);
  }

  #listOf(lane: Lane): number {
    return lane === 'normal' ? this.#normal : this.#express;
  }

  #removeWhere(matches: (entry: Entry) => boolean): Entry[] {
    return [this.#express, this.#normal].flatMap((list) => {
      const removed = this.#lists.removeWhere(list, matches);
      for (const entry of removed) this.#left(entry, list);
      return removed;
    });
  }

  #placedHere(): Set<string> {
    const { placedNames } = this.#memory;
    let names = placedNames.get(this.#row);
    if (names === undefined) {
      names = new Set();
      for (const entry of this.#lists.items(this.#normal))
        if (entry.placed !== undefined) names.add(nameOf(entry, entry.placed));
      placedNames.set(this.#row, names);
    }
    return names;
  }

  /** Updates counters after an entry has left the queue. */
  #left(entry: Entry, list: number): void {
    const { placedNames, workers } = this.#memory;
    if (entry.long && list === this.#normal) workers.longEntries[this.#row]!--;
    if (placedNames.size === 0) return;
    if (this.isEmpty) placedNames.delete(this.#row);
    else if (entry.placed !== undefined) placedNames.get(this.#row)?.delete(nameOf(entry, entry.placed));
  }

  /** Returns whether the other entry stays ahead: it is not larger, has no size, or has waited too long. */
  #isAheadOf(other: Entry, { sizeMs, since }: Entry): boolean {
    return other.sizeMs <= sizeMs || since - other.since >= this.#memory.workers.patienceMs[this.#row]!;
  }
}

/** Longer queues keep a set of their placed tasks, because scanning the queue for each arrival is quadratic. */
const SCANNED_MAX = 256;

function nameOf({ owner, job }: Pick<Entry, 'owner' | 'job'>, { task, attempt }: TaskAttempt): string {
  return `${owner} ${job} ${task} ${attempt}`;
}

/**
 * Maximum number of express entries served in a row while a normal entry waits, so that normal entries do not starve.
 */
const EXPRESS_RUN_MAX = 8;

function isStealable(entry: Entry): boolean {
  return !entry.long && entry.placed === undefined;
}
