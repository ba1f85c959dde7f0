import { type Address, grown, type Lane, type Millis, type TaskAttempt } from '@goshawk/core';
import { type Entry, isPlaced } from './entry.js';
import { EntryLists } from './entry-lists.js';

/**
 * The queue of a worker: two lanes, served in order (express, normal), each FIFO, or by size where owners tell it, but for
 * what has waited too long. Hawk's worker has the normal lane only (§3.1); the other one is for pilots and thin jobs.
 *
 * One object serves all workers of a process in turn: it is the queue of whichever `of` named last. So a step looks at
 * columns only, which fit into a processor's cache where an object for each of thousands of workers does not.
 */
export class WorkerQueue {
  readonly #lists: EntryLists;
  /** Whose it is at present: its own number in the lists, and in the columns. */
  number = 0;
  /** Long entries in the normal lane: without any, a victim need not look for what lies behind one. */
  #longEntries = new Int32Array(INITIAL);
  /** Express entries served in a row while a normal one waited. */
  #ahead = new Uint8Array(INITIAL);
  /** What has waited for so long is overtaken by nothing smaller any more. */
  #patienceMs = new Float64Array(INITIAL);

  /** Names of what central has placed in those queues that are too long to be looked through for each task that comes. */
  readonly #placedIn = new Map<number, Set<string>>();

  /** @param lists of all queues in the process */
  constructor(lists: EntryLists = new EntryLists()) {
    this.#lists = lists;
  }

  /** A new queue, which this is from now on. */
  add(): this {
    this.number = this.#lists.addQueue();
    if (this.number === this.#ahead.length) {
      this.#longEntries = grown(this.#longEntries, this.number + 1);
      this.#ahead = grown(this.#ahead, this.number + 1);
      this.#patienceMs = grown(this.#patienceMs, this.number + 1);
    }
    this.patienceMs = Number.POSITIVE_INFINITY;
    return this;
  }

  /** The queue with that number, until another one is asked for. */
  of(number: number): this {
    this.number = number;
    return this;
  }

  set patienceMs(patienceMs: Millis) {
    this.#patienceMs[this.number] = patienceMs;
  }

  get length(): number {
    return this.#lists.waiting(this.number);
  }

  get isEmpty(): boolean {
    return this.#lists.areEmpty(this.number);
  }

  push(entry: Entry): void {
    const lane = listOf(entry.lane);
    if (entry.sizeMs === 0) this.#lists.push(this.number, lane, entry);
    else this.#lists.insert(this.number, lane, entry, (other) => this.#goesAhead(other, entry));
    if (entry.long && lane === NORMAL) this.#longEntries[this.number]!++;
    if (this.#placedIn.size > 0 && entry.placed !== undefined)
      this.#placedIn.get(this.number)?.add(nameOf(entry, entry.placed));
  }

  /** What is served next. */
  head(): Entry | undefined {
    const list = this.#nextLane();
    return list < 0 ? undefined : this.#lists.first(this.number, list);
  }

  shift(): Entry | undefined {
    const lane = this.#nextLane();
    if (lane < 0) return undefined;
    const entry = this.#lists.shift(this.number, lane)!;
    if (lane !== EXPRESS) this.#ahead[this.number] = 0;
    else if (!this.#lists.isEmpty(this.number, NORMAL)) this.#ahead[this.number]!++;
    if (entry.long && lane === NORMAL) this.#longEntries[this.number]!--;
    this.#left(entry);
    return entry;
  }

  /** The lane that is served next; below 0: nothing waits. */
  #nextLane(): number {
    const lists = this.#lists;
    const hasNormal = !lists.isEmpty(this.number, NORMAL);
    if (!lists.isEmpty(this.number, EXPRESS) && !(hasNormal && this.#ahead[this.number]! >= EXPRESS_RUN_MAX))
      return EXPRESS;
    return hasNormal ? NORMAL : -1;
  }

  /**
   * Takes out what a thief may have (Hawk §3.6, Figure 3): the first run of consecutive short probes that
   * comes after a long task. While a long task runs, that is the run behind it; while a short one runs, the
   * run behind the first long entry. Only this one run, so that what is rescued belongs to few jobs. Express
   * entries that wait for a long task to end go first.
   *
   * @param executingLong whether what runs here is long, and so what waits first is stuck behind it
   * @param limit probes at most
   */
  takeStealable(executingLong: boolean, limit: number): Entry[] {
    if (this.isEmpty) return NO_ENTRIES;
    if (executingLong && !this.#lists.isEmpty(this.number, EXPRESS)) {
      return this.#lists.takeRun(this.number, EXPRESS, none, any, limit);
    }
    return executingLong || this.longEntries > 0 ? this.#cutStealableRun(executingLong, limit) : NO_ENTRIES;
  }

  removeProbes(owner: Address, job: number, stage: number): Entry[] {
    return this.#removeWhere(
      (e) => e.placed === undefined && e.job === job && e.owner === owner && e.stage === stage,
    );
  }

  removePlaced(owner: Address, job: number, task: number, attempt: number): Entry | undefined {
    const isIt = (entry: Entry) => isPlaced(entry, owner, job, task, attempt);
    const entry = this.#lists.removeFirst(this.number, NORMAL, isIt);
    if (entry === undefined) return undefined;
    if (entry.long) this.#longEntries[this.number]!--;
    this.#left(entry);
    return entry;
  }

  removeOwner(owner: Address): Entry[] {
    return this.#removeWhere((entry) => entry.owner === owner);
  }

  removeAll(): Entry[] {
    return this.#removeWhere(() => true);
  }

  /** What central has placed waits in the normal lane. */
  has(owner: Address, job: number, task: number, attempt: number): boolean {
    if (this.length > WALKED_MAX) return this.#placedHere().has(nameOf({ owner, job }, { task, attempt }));
    return (
      !this.isEmpty &&
      this.#lists.some(this.number, NORMAL, (entry) => isPlaced(entry, owner, job, task, attempt))
    );
  }

  get longEntries(): number {
    return this.#longEntries[this.number]!;
  }

  *[Symbol.iterator](): Iterator<Entry> {
    yield* this.#lists.entriesOf(this.number, EXPRESS);
    yield* this.#lists.entriesOf(this.number, NORMAL);
  }

  #cutStealableRun(executingLong: boolean, limit: number): Entry[] {
    let isBehindLong = executingLong;
    const comesBefore = ({ long }: Entry): boolean => {
      isBehindLong ||= long;
      return long || !isBehindLong;
    };
    return this.#lists.takeRun(this.number, NORMAL, comesBefore, isStealable, limit);
  }

  #removeWhere(matches: (entry: Entry) => boolean): Entry[] {
    const fromNormal = this.#lists.removeWhere(this.number, NORMAL, matches);
    for (const entry of fromNormal) {
      if (entry.long) this.#longEntries[this.number]!--;
      this.#left(entry);
    }
    return [...this.#lists.removeWhere(this.number, EXPRESS, matches), ...fromNormal];
  }

  #placedHere(): Set<string> {
    let placed = this.#placedIn.get(this.number);
    if (placed === undefined) {
      placed = new Set();
      for (const entry of this.#lists.entriesOf(this.number, NORMAL))
        if (entry.placed !== undefined) placed.add(nameOf(entry, entry.placed));
      this.#placedIn.set(this.number, placed);
    }
    return placed;
  }

  /** The entry waits here no more. */
  #left(entry: Entry): void {
    if (this.#placedIn.size === 0) return;
    if (this.isEmpty) this.#placedIn.delete(this.number);
    else if (entry.placed !== undefined) this.#placedIn.get(this.number)?.delete(nameOf(entry, entry.placed));
  }

  /** Those that are not larger, that have waited long enough, or that have no size. */
  #goesAhead(other: Entry, { sizeMs, since }: Entry): boolean {
    return other.sizeMs <= sizeMs || since - other.since >= this.#patienceMs[this.number]!;
  }
}

// Lists of a queue, one a lane.
const NORMAL = 0;
const EXPRESS = 1;

function listOf(lane: Lane): number {
  return lane === 'normal' ? NORMAL : EXPRESS;
}

/** A queue that is longer has a set of the names of its tasks: to look through it for each would cost the square. */
const WALKED_MAX = 256;

function nameOf({ owner, job }: Pick<Entry, 'owner' | 'job'>, { task, attempt }: TaskAttempt): string {
  return `${owner} ${job} ${task} ${attempt}`;
}

/** Express entries that are served in a row while a normal one waits: however many pilots come, it gets its turn. */
const EXPRESS_RUN_MAX = 8;

const NO_ENTRIES: Entry[] = [];

const INITIAL = 64;

const any = () => true;
const none = () => false;

function isStealable(entry: Entry): boolean {
  return !entry.long && entry.placed === undefined;
}
