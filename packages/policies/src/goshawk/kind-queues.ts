import { DenseIds, fitsIn, IndexedHeap, type Millis, type Needs, type Vector } from '@goshawk/core';
import type { StageView } from '../contract.js';
import { isDemanding } from '../free-workers.js';
import { StageOrder } from '../stage-order.js';
import type { Kind } from './kinds.js';
import { mergedInOrder } from './merging.js';

/** A user with waiting or running tasks. */
export class QueuedUser {
  readonly name: string;
  /** Small and dense; reused once the user has no tasks. */
  readonly id: number;
  /** Order of arrival. */
  readonly rank: number;
  readonly queues: Partial<Record<Kind, KindQueues>> = {};
  weight = 1;
  /** Sum of the dominant shares of running tasks. */
  used = 0;
  /** Number of runs charged to the user. */
  runs = 0;
  /** Dominant share of the last task that started; undefined: none has started. */
  task: number | undefined;
  /** Virtual time: what it has received, relative to its weight. Valid at `servedAt`. */
  served = 0;
  servedAt: Millis = 0;
  /** Number of waiting stages, and of jobs with such stages. */
  waiting = 0;
  waitingJobs = 0;

  constructor(name: string, id: number, rank: number) {
    this.name = name;
    this.id = id;
    this.rank = rank;
  }

  /**
   * The user with the lowest share is served first: usage plus half a task, over weight, plus what the user has received. Usage
   * moves by whole tasks; without the half, users get half a task too much or too little on average. Users without a started
   * task come first, in order of arrival.
   */
  get share(): number {
    if (this.task === undefined) return Number.NEGATIVE_INFINITY;
    const task = this.runs === 0 ? this.task : this.used / this.runs;
    return (this.used + task / 2) / this.weight + this.served;
  }
}

/** Demands that are equal within a factor per resource. */
export interface SizeClass {
  readonly key: string;
  /** Lower bound of the demands in the class. */
  readonly least: Vector;
}

/** Number of classes per doubling of a demand. */
const CLASSES = 2;

function sizeOf(demand: Vector): SizeClass {
  const classes = demand.map((amount) => (amount > 0 ? Math.floor(CLASSES * Math.log2(amount)) : undefined));
  // The factor allows for rounding errors.
  const least = classes.map((each) => (each === undefined ? 0 : (1 - 1e-9) * 2 ** (each / CLASSES)));
  return { key: classes.join(), least };
}

/** Needs of waiting stages; those of gangs with different numbers of tasks differ. */
export class WaitingNeeds {
  readonly of: Needs;
  /** Number of tasks that must start together; 1: each may start alone. */
  readonly together: number;
  /** Breaks ties between equal keys. Small and dense; reused once no stage with these needs waits. */
  readonly id: number;
  /** The last attempt found no room, so stages with these needs wait until some worker has more room. */
  isBlocked = false;
  /** Number of queues with these needs: one for each user and kind with such a stage. */
  queueCount = 0;
  /** The queues in which they are not blocked. */
  readonly open = new Set<KindQueues>();
  #size: SizeClass | undefined;

  constructor(id: number, of: Needs, together: number) {
    this.id = id;
    this.of = of;
    this.together = together;
  }

  get size(): SizeClass {
    this.#size ??= sizeOf(this.of.demand);
    return this.#size;
  }

  /** Whether a reservation may help: such tasks do not fit into every free place. */
  get isReservable(): boolean {
    return this.together > 1 || isDemanding(this.of);
  }
}

/** Stages of one user and one kind with equal needs. */
interface NeedsQueue {
  readonly needs: WaitingNeeds;
  readonly order: StageOrder;
  /** Small and dense among the queues of the user and kind. */
  readonly slot: number;
  isBlocked: boolean;
}

/** Queues of one user and one kind by the key of their first stage. */
class Heads {
  readonly #queues: readonly (NeedsQueue | undefined)[];
  readonly heap: IndexedHeap;

  constructor(queues: readonly (NeedsQueue | undefined)[], ranks: readonly number[]) {
    this.#queues = queues;
    this.heap = new IndexedHeap(ranks);
  }

  inOrder(queues: KindQueues): Iterable<Contender> {
    // Most have one queue, for which an array costs less than a generator.
    return this.heap.size === 1 ? [this.#head(queues, this.heap.top())] : this.#inOrder(queues);
  }

  *#inOrder(queues: KindQueues): Iterable<Contender> {
    for (const slot of this.heap.inOrder()) yield this.#head(queues, slot);
  }

  #head(queues: KindQueues, slot: number): Contender {
    const { needs, order } = this.#queues[slot]!;
    return { queues, needs, stage: order.first()!, key: order.firstKey };
  }
}

/**
 * Waiting stages of one user and one kind, lowest key first. It has one queue per needs, so that all stages that fit
 * nowhere can be skipped together.
 */
export class KindQueues {
  readonly user: QueuedUser;
  readonly kind: Kind;
  readonly #queueOf = new Map<WaitingNeeds, NeedsQueue>();
  readonly #queues: (NeedsQueue | undefined)[] = [];
  /** Ids of the needs, by slot. */
  readonly #ranks: number[] = [];
  readonly #slots = new DenseIds();
  /** Queues that are not blocked. */
  readonly #open = new Heads(this.#queues, this.#ranks);
  /** Blocked queues by size class. */
  readonly #blocked = new Map<string, { readonly size: SizeClass; readonly heads: Heads }>();
  readonly #touched = new Set<NeedsQueue>();
  /** Number of queues whose needs are reservable. */
  #reservable = 0;

  constructor(user: QueuedUser, kind: Kind) {
    this.user = user;
    this.kind = kind;
  }

  /** Whether no stage waits that may fit. */
  get isEmpty(): boolean {
    return this.#open.heap.size === 0;
  }

  /** Whether a reservation may help some stage. */
  get isReservable(): boolean {
    return this.#reservable > 0;
  }

  /** Size classes with stages that are or were blocked. */
  get blockedSizes(): Iterable<string> {
    return this.#blocked.keys();
  }

  hasBlocked({ key }: SizeClass): boolean {
    return (this.#blocked.get(key)?.heads.heap.size ?? 0) > 0;
  }

  /** Infinity if no stage waits that may fit. */
  get firstKey(): number {
    return this.#open.heap.topKey();
  }

  /** Lowest key of its stages, blocked or not. Infinity if none waits. */
  get lowestKey(): number {
    let lowest = this.firstKey;
    for (const { heads } of this.#blocked.values()) lowest = Math.min(lowest, heads.heap.topKey());
    return lowest;
  }

  first(): StageView | undefined {
    const { heap } = this.#open;
    return heap.size === 0 ? undefined : this.#queues[heap.top()]!.order.first();
  }

  set(stage: StageView, needs: WaitingNeeds, key: number): void {
    let queue = this.#queueOf.get(needs);
    if (queue === undefined) {
      const slot = this.#slots.take();
      queue = { needs, order: new StageOrder(), slot, isBlocked: needs.isBlocked };
      this.#queues[slot] = queue;
      this.#ranks[slot] = needs.id;
      this.#queueOf.set(needs, queue);
      needs.queueCount++;
      if (!queue.isBlocked) needs.open.add(this);
      if (needs.isReservable) this.#reservable++;
    }
    queue.order.set(stage, key);
    this.#refresh(queue);
  }

  delete(stage: StageView, needs: WaitingNeeds): void {
    const queue = this.#queueOf.get(needs);
    if (queue === undefined) return;
    queue.order.delete(stage);
    this.#refresh(queue);
    if (queue.order.total > 0) return;
    if (this.#blocked.size > 0 && !this.hasBlocked(needs.size)) this.#blocked.delete(needs.size.key);
    this.#queues[queue.slot] = undefined;
    this.#slots.release(queue.slot);
    this.#queueOf.delete(needs);
    this.#touched.delete(queue);
    needs.queueCount--;
    needs.open.delete(this);
    if (needs.isReservable) this.#reservable--;
  }

  /** First stages of needs that are not blocked. */
  get openHeads(): Iterable<Contender> {
    return this.#open.inOrder(this);
  }

  /** First stages of blocked needs, by size class. @param room only classes that may fit into it; default: all */
  blockedHeads(room?: Vector): Iterable<Contender>[] {
    const heads: Iterable<Contender>[] = [];
    for (const each of this.#blocked.values()) {
      if (each.heads.heap.size === 0 || (room !== undefined && !fitsIn(each.size.least, room))) continue;
      heads.push(each.heads.inOrder(this));
    }
    return heads;
  }

  keyOf(stage: StageView, needs: WaitingNeeds): number {
    return this.#queueOf.get(needs)?.order.keyOf(stage) ?? Number.POSITIVE_INFINITY;
  }

  /** Removes the first stage until all skipped stages are restored. */
  skipFirst(): void {
    const queue = this.#queues[this.#open.heap.top()]!;
    queue.order.skipFirst();
    this.#touched.add(queue);
    this.#refresh(queue);
  }

  /** Restores all skipped stages. @returns their needs */
  restoreSkipped(): readonly WaitingNeeds[] {
    const touched = [...this.#touched];
    this.#touched.clear();
    for (const queue of touched) {
      queue.order.restoreSkipped();
      this.#refresh(queue);
    }
    return touched.map(({ needs }) => needs);
  }

  /** Excludes stages with these needs, or includes them again. */
  block(needs: WaitingNeeds, isBlocked: boolean): void {
    const queue = this.#queueOf.get(needs);
    if (queue === undefined || queue.isBlocked === isBlocked) return;
    queue.isBlocked = isBlocked;
    if (isBlocked) needs.open.delete(this);
    else needs.open.add(this);
    this.#refresh(queue);
  }

  /** The first stage of the queue has changed, or whether it is blocked. */
  #refresh({ needs, order, slot, isBlocked }: NeedsQueue): void {
    const isEmpty = order.size === 0;
    if (isEmpty || isBlocked) this.#open.heap.delete(slot);
    else this.#open.heap.set(slot, order.firstKey);
    if (isEmpty || !isBlocked) this.#unblocked(needs, slot);
    else this.#blockedOf(needs).set(slot, order.firstKey);
  }

  #blockedOf({ size }: WaitingNeeds): IndexedHeap {
    let known = this.#blocked.get(size.key);
    if (known === undefined) {
      known = { size, heads: new Heads(this.#queues, this.#ranks) };
      this.#blocked.set(size.key, known);
    }
    return known.heads.heap;
  }

  #unblocked(needs: WaitingNeeds, slot: number): void {
    if (this.#blocked.size > 0) this.#blocked.get(needs.size.key)?.heads.heap.delete(slot);
  }
}

/** The first stage of its needs, of one user and one kind. */
export interface Contender {
  readonly queues: KindQueues;
  readonly stage: StageView;
  readonly needs: WaitingNeeds;
  readonly key: number;
}

/** The first accepted stages of several heads, in order, up to a limit. */
export function firstAccepted(
  heads: readonly Iterable<Contender>[],
  most: number,
  accepts: (needs: WaitingNeeds) => boolean,
): Contender[] {
  const first: Contender[] = [];
  if (heads.length === 1) {
    for (const contender of heads[0]!) {
      if (accepts(contender.needs)) first.push(contender);
      if (first.length === most) break;
    }
    return first.sort(compare);
  }
  const accepted = heads.map((each) => acceptedOf(each, accepts));
  for (const contender of mergedInOrder(accepted, (one, other) => compare(one, other) < 0)) {
    first.push(contender);
    if (first.length === most) break;
  }
  return first.sort(compare);
}

function* acceptedOf(
  contenders: Iterable<Contender>,
  accepts: (needs: WaitingNeeds) => boolean,
): Iterable<Contender> {
  for (const contender of contenders) if (accepts(contender.needs)) yield contender;
}

function compare(one: Contender, other: Contender): number {
  return one.key - other.key || one.stage.id - other.stage.id;
}
