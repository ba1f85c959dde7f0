import { type Address, grown, type Lane, type Millis } from '@goshawk/core';
import { type Entry, isPlaced } from './entry.js';
import { EntryLists, listOf } from './entry-lists.js';

/**
 * The queue of a worker: three lanes, served in order (express, normal, opportunistic), each FIFO, or by size where
 * owners tell it, but for what has waited too long. Hawk's worker has the normal lane only (§3.1); the others exist for pilot tasks and for work that
 * may run where nothing else waits.
 *
 * One object serves all workers of a process in turn: it is the queue of whichever `of` named last. So a step looks at
 * columns only, which fit into a processor's cache where an object for each of thousands of workers does not.
 */
export class WorkerQueue {
  readonly #lists: EntryLists;
  /** Whose it is at present: its own number in the lists, and in the columns. */
  number = 0;
  /** Express entries served in a row while a normal one waited. */
  #ahead = new Uint8Array(INITIAL);
  /** What has waited for so long is overtaken by nothing smaller any more. */
  #patienceMs = new Float64Array(INITIAL);

  /** @param lists of all queues in the process */
  constructor(lists: EntryLists = new EntryLists()) {
    this.#lists = lists;
  }

  /** A new queue, which this is from now on. */
  add(): this {
    this.number = this.#lists.addQueue();
    if (this.number === this.#ahead.length) {
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

  // Lists, one a lane.

  #normal(): number {
    return listOf(this.number, 0);
  }

  #express(): number {
    return listOf(this.number, 1);
  }

  #opportunistic(): number {
    return listOf(this.number, 2);
  }

  get length(): number {
    return this.#lists.waiting(this.number);
  }

  push(entry: Entry): void {
    const lane = this.#lane(entry.lane);
    if (entry.sizeMs === 0) this.#lists.push(lane, entry);
    else this.#lists.insert(lane, entry, (other) => this.#goesAhead(other, entry));
    if (entry.long && lane === this.#normal()) this.#lists.count(this.number, 1);
  }

  /** What is served next. */
  head(): Entry | undefined {
    const list = this.#nextLane();
    return list < 0 ? undefined : this.#lists.first(list);
  }

  shift(): Entry | undefined {
    const lane = this.#nextLane();
    if (lane < 0) return undefined;
    const entry = this.#lists.shift(lane)!;
    if (lane !== this.#express()) this.#ahead[this.number] = 0;
    else if (!this.#lists.isEmpty(this.#normal())) this.#ahead[this.number]!++;
    if (entry.long && lane === this.#normal()) this.#lists.count(this.number, -1);
    return entry;
  }

  /** The lane that is served next; below 0: nothing waits. */
  #nextLane(): number {
    if (this.length === 0) return -1;
    const lists = this.#lists;
    const hasNormal = !lists.isEmpty(this.#normal());
    if (!lists.isEmpty(this.#express()) && !(hasNormal && this.#ahead[this.number]! >= EXPRESS_RUN_MAX))
      return this.#express();
    if (hasNormal) return this.#normal();
    return lists.isEmpty(this.#opportunistic()) ? -1 : this.#opportunistic();
  }

  /**
   * Takes out what a thief may have (Hawk §3.6, Figure 3): the first run of consecutive short probes that
   * comes after a long task. While a long task runs, that is the run behind it; while a short one runs, the
   * run behind the first long entry. Only this one run, so that what is rescued belongs to few jobs. Express
   * entries that wait for a long task to end go first; when neither lane has any, opportunistic probes are given.
   *
   * @param executingLong whether what runs here is long, and so what waits first is stuck behind it
   * @param limit probes at most
   */
  takeStealable(executingLong: boolean, limit: number): Entry[] {
    if (this.length === 0) return NO_ENTRIES;
    if (executingLong && !this.#lists.isEmpty(this.#express())) {
      return this.#lists.takeRun(this.#express(), none, any, limit);
    }
    const run =
      executingLong || this.longEntries > 0 ? this.#cutStealableRun(executingLong, limit) : NO_ENTRIES;
    if (run.length > 0 || this.#lists.isEmpty(this.#opportunistic())) return run;
    return this.#lists.takeRun(this.#opportunistic(), none, any, limit);
  }

  removeProbes(owner: Address, job: number, stage: number): Entry[] {
    return this.#removeWhere(
      (e) => e.placed === undefined && e.job === job && e.owner === owner && e.stage === stage,
    );
  }

  removePlaced(owner: Address, job: number, task: number, attempt: number): Entry | undefined {
    return this.#removeWhere((entry) => isPlaced(entry, owner, job, task, attempt))[0];
  }

  removeOwner(owner: Address): Entry[] {
    return this.#removeWhere((entry) => entry.owner === owner);
  }

  removeAll(): Entry[] {
    return this.#removeWhere(() => true);
  }

  /** What central has placed waits in the normal lane. */
  has(owner: Address, job: number, task: number, attempt: number): boolean {
    return (
      this.length > 0 &&
      this.#lists.some(this.#normal(), (entry) => isPlaced(entry, owner, job, task, attempt))
    );
  }

  /** Long entries in the normal lane: without any, a victim need not look for what lies behind one. */
  get longEntries(): number {
    return this.#lists.counted(this.number);
  }

  *[Symbol.iterator](): Iterator<Entry> {
    yield* this.#lists.entriesOf(this.#express());
    yield* this.#lists.entriesOf(this.#normal());
    yield* this.#lists.entriesOf(this.#opportunistic());
  }

  #cutStealableRun(executingLong: boolean, limit: number): Entry[] {
    let isBehindLong = executingLong;
    const comesBefore = ({ long }: Entry): boolean => {
      isBehindLong ||= long;
      return long || !isBehindLong;
    };
    return this.#lists.takeRun(this.#normal(), comesBefore, isStealable, limit);
  }

  #removeWhere(matches: (entry: Entry) => boolean): Entry[] {
    const fromNormal = this.#lists.removeWhere(this.#normal(), matches);
    for (const entry of fromNormal) if (entry.long) this.#lists.count(this.number, -1);
    return [
      ...this.#lists.removeWhere(this.#express(), matches),
      ...fromNormal,
      ...this.#lists.removeWhere(this.#opportunistic(), matches),
    ];
  }

  /** Those that are not larger, that have waited long enough, or that have no size. */
  #goesAhead(other: Entry, { sizeMs, since }: Entry): boolean {
    return other.sizeMs <= sizeMs || since - other.since >= this.#patienceMs[this.number]!;
  }

  #lane(lane: Lane): number {
    if (lane === 'normal') return this.#normal();
    return lane === 'express' ? this.#express() : this.#opportunistic();
  }
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
