import type { Address, Lane, MessageOf, Millis, Probe, Resources, TaskAttempt } from '@goshawk/core';
import { EntryList } from './entry-list.js';
import { EntryPool } from './entry-pool.js';

/** Something that waits at a worker: a probe, or a task that central has placed here. */
export interface Entry {
  readonly owner: Address;
  readonly job: number;
  readonly stage: number;
  readonly long: boolean;
  readonly lane: Lane;
  readonly demand: Resources;
  /** The task, when central has placed it; a probe learns its task when it is served. */
  readonly placed: TaskAttempt | undefined;
  /** The owner's belief of the task's run time; 0 for probes, of which nobody asks. ms */
  readonly estimateMs: number;
  /** The least comes first in its lane; 0 where none is told: they are served as they came. ms */
  readonly sizeMs: number;
  /** When it came here, where a size is told; otherwise 0. */
  readonly since: Millis;
}

/**
 * The queue of a worker: three lanes, served in order (express, normal, opportunistic), each FIFO, or by size where
 * owners tell it, but for what has waited too long. Hawk's worker has the normal lane only (§3.1); the others exist for pilot tasks and for work that
 * may run where nothing else waits.
 */
export class WorkerQueue {
  /** All entries: thieves knock at many doors behind which nothing waits, and should not have to go in. */
  #length = 0;
  readonly #normal: EntryList;
  /** Long entries in the normal lane: without any, a victim need not look for what lies behind one. */
  #longEntries = 0;
  /** Express entries served in a row while a normal one waited. */
  #ahead = 0;
  /** Made with their first entries: most policies know one lane only. */
  #express: EntryList = NO_LIST;
  #opportunistic: EntryList = NO_LIST;
  readonly #pool: EntryPool;
  /** What has waited for so long is overtaken by nothing smaller any more. */
  patienceMs: Millis = Number.POSITIVE_INFINITY;

  /** @param pool of all queues in the process */
  constructor(pool: EntryPool = new EntryPool()) {
    this.#pool = pool;
    this.#normal = new EntryList(pool);
  }

  get length(): number {
    return this.#length;
  }

  push(entry: Entry): void {
    const lane = this.#lane(entry.lane);
    if (entry.sizeMs === 0) lane.push(entry);
    else lane.insert(entry, (other) => this.#goesAhead(other, entry));
    this.#length++;
    if (entry.long && entry.lane === 'normal') this.#longEntries++;
  }

  /** As in all presets without sampling: the other lanes need not be looked into. */
  get #isNormalOnly(): boolean {
    return this.#length === this.#normal.length;
  }

  /** What is served next. */
  head(): Entry | undefined {
    if (this.#length === 0) return undefined;
    if (this.#isNormalOnly || this.#isNormalsTurn) return this.#normal.first;
    return this.#express.first ?? this.#normal.first ?? this.#opportunistic.first;
  }

  shift(): Entry | undefined {
    if (this.#length === 0) return undefined;
    const fromExpress = this.#isNormalOnly || this.#isNormalsTurn ? undefined : this.#express.shift();
    this.#length--;
    if (fromExpress !== undefined) {
      if (this.#normal.length > 0) this.#ahead++;
      return fromExpress;
    }
    this.#ahead = 0;
    const fromNormal = this.#normal.shift();
    if (fromNormal === undefined) return this.#opportunistic.shift();
    if (fromNormal.long) this.#longEntries--;
    return fromNormal;
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
    if (this.#length === 0) return NO_ENTRIES;
    if (executingLong && this.#express.length > 0) {
      const express = this.#express.takeRun(none, any, limit);
      this.#length -= express.length;
      return express;
    }
    const run =
      executingLong || this.#longEntries > 0 ? this.#cutStealableRun(executingLong, limit) : NO_ENTRIES;
    const taken = run.length > 0 ? run : this.#opportunistic.takeRun(none, any, limit);
    this.#length -= taken.length;
    return taken;
  }

  removeProbes(owner: Address, job: number, stage: number): Entry[] {
    return this.#removeWhere(
      (e) => e.placed === undefined && e.job === job && e.owner === owner && e.stage === stage,
    );
  }

  removePlaced(owner: Address, job: number, task: number, attempt: number): Entry | undefined {
    return this.#removeWhere(
      (e) => e.placed?.task === task && e.placed.attempt === attempt && e.job === job && e.owner === owner,
    )[0];
  }

  removeOwner(owner: Address): Entry[] {
    return this.#removeWhere((entry) => entry.owner === owner);
  }

  removeAll(): Entry[] {
    return this.#removeWhere(() => true);
  }

  has(owner: Address, job: number, task: number, attempt: number): boolean {
    for (const e of this) {
      if (e.placed?.task === task && e.placed.attempt === attempt && e.job === job && e.owner === owner)
        return true;
    }
    return false;
  }

  get longEntries(): number {
    return this.#longEntries;
  }

  *[Symbol.iterator](): Iterator<Entry> {
    yield* this.#express;
    yield* this.#normal;
    yield* this.#opportunistic;
  }

  /** However many pilots and thin jobs come, what waits behind them gets its turn. */
  get #isNormalsTurn(): boolean {
    return this.#ahead >= EXPRESS_RUN_MAX && this.#normal.length > 0;
  }

  #cutStealableRun(executingLong: boolean, limit: number): Entry[] {
    let isBehindLong = executingLong;
    const comesBefore = ({ long }: Entry): boolean => {
      isBehindLong ||= long;
      return long || !isBehindLong;
    };
    return this.#normal.takeRun(comesBefore, isStealable, limit);
  }

  #removeWhere(matches: (entry: Entry) => boolean): Entry[] {
    const fromNormal = this.#normal.removeWhere(matches);
    for (const entry of fromNormal) if (entry.long) this.#longEntries--;
    const removed = [
      ...this.#express.removeWhere(matches),
      ...fromNormal,
      ...this.#opportunistic.removeWhere(matches),
    ];
    this.#length -= removed.length;
    return removed;
  }

  /** Those that are not larger, that have waited long enough, or that have no size. */
  #goesAhead(other: Entry, { sizeMs, since }: Entry): boolean {
    return other.sizeMs <= sizeMs || since - other.since >= this.patienceMs;
  }

  #lane(lane: Lane): EntryList {
    if (lane === 'normal') return this.#normal;
    if (lane === 'express') {
      if (this.#express === NO_LIST) this.#express = new EntryList(this.#pool);
      return this.#express;
    }
    if (this.#opportunistic === NO_LIST) this.#opportunistic = new EntryList(this.#pool);
    return this.#opportunistic;
  }
}

/** Shared by all lanes that never held anything. */
const NO_LIST = new EntryList(new EntryPool());

/** Express entries that are served in a row while a normal one waits. */
const EXPRESS_RUN_MAX = 8;

const NO_ENTRIES: Entry[] = [];

const any = () => true;
const none = () => false;

function isStealable(entry: Entry): boolean {
  return !entry.long && entry.placed === undefined;
}

/** What the messages that bring a task say of it. */
type TaskFacts = Pick<Entry, 'job' | 'stage' | 'long' | 'demand'>;

/** A task that its owner gives to a slot at once, or any that a slot asks its owner for: it never waits in the queue. */
export function entryOfGiven(owner: Address, task: TaskFacts): Entry {
  return entryOfTask(owner, task, undefined, 0);
}

/** A task that central has placed. */
export function entryOfPlaced(message: MessageOf<'assign'>): Entry {
  const { owner, task, attempt, estimateMs } = message;
  return entryOfTask(owner, message, { task, attempt }, estimateMs);
}

/** What stands in the order of its coming, whatever its size. */
function entryOfTask(
  owner: Address,
  { job, stage, long, demand }: TaskFacts,
  placed: Entry['placed'],
  estimateMs: Millis,
): Entry {
  const lane = 'normal';
  return { owner, job, stage, long, lane, demand, placed, estimateMs, sizeMs: 0, since: 0 };
}

/**
 * The entry that a probe becomes. Where one object comes as the probes of a whole batch, as it does within a process,
 * one entry is shared by all of them: they are never changed, and there are many.
 */
export function entryOfProbe(owner: Address, probe: Omit<Probe, 'owner'>, now: Millis): Entry {
  // A small integer where nobody looks at it: a fraction would take memory of its own for each probe.
  const since = probe.sizeMs === 0 ? 0 : now;
  if (latest?.probe === probe && latest.entry.owner === owner && latest.entry.since === since)
    return latest.entry;
  const { job, stage, long, lane, demand, sizeMs } = probe;
  const entry = { owner, job, stage, long, lane, demand, placed: undefined, estimateMs: 0, sizeMs, since };
  latest = { probe, entry };
  return entry;
}

/** The probe that an entry is to another worker; the same object for the next one that shares the entry. */
export function probeOfEntry(entry: Entry): Probe {
  if (given?.entry === entry) return given.probe;
  const { owner, job, stage, long, lane, demand, sizeMs } = entry;
  const probe = { owner, job, stage, long, lane, demand, sizeMs };
  given = { entry, probe };
  return probe;
}

/** The last entry that was made of a probe, and the last probe that was made of an entry. */
let latest: { readonly probe: object; readonly entry: Entry } | undefined;
let given: { readonly entry: Entry; readonly probe: Probe } | undefined;
