import {
  type Address,
  IndexedHeap,
  type JobClass,
  type Millis,
  type NeedOrder,
  needKey,
  type Resources,
} from '@goshawk/core';

/**
 * What is known of a batch: that it is short, that it is long, or neither, as the pilots of its job have not told;
 * those are small, or large, by the number of their tasks.
 */
export type NeedKind = JobClass | 'small' | 'large';

/** A batch of tasks that wait at their owner for workers. */
export interface Need {
  readonly owner: Address;
  readonly job: number;
  readonly stage: number;
  readonly kind: NeedKind;
  readonly demand: Resources;
  estimateMs: Millis;
  /** The work that it came with: estimate × tasks. */
  sizeMs: Millis;
  /** Names it in the heaps. */
  readonly id: number;
  /** Tasks that no worker was matched with. */
  tasks: number;
  /** Workers that its owner was told of. */
  matches: number;
  /** When it came, or when a worker was last matched with it. */
  waitsSince: Millis;
  readonly cameAt: Millis;
  /** Workers that are kept for it until its tasks fit. */
  readonly held: Set<Address>;
}

/**
 * The needs of one class in the order in which free workers serve them, and beside it in the order in which
 * they have waited. Those that need nobody at the moment are in neither, but are known.
 */
export class Needs {
  readonly #order: NeedOrder;
  /** When each came, by id: of needs that are equal the one that came first is first. */
  readonly #arrivalOf: number[] = [];
  readonly #byKey = new IndexedHeap(this.#arrivalOf);
  readonly #byWait = new IndexedHeap(this.#arrivalOf);
  /** By when they are late; empty where nobody asks. */
  readonly #byLateness = new IndexedHeap(this.#arrivalOf);
  readonly #lateFrom: ((need: Need) => Millis) | undefined;
  /** Of the ids in the heaps; ids are given out again, so that the heaps stay small. */
  readonly #needs: (Need | undefined)[] = [];
  readonly #freeIds: number[] = [];
  /** Of the needs in the heaps, those that ask for more than a slot. */
  #demanding = 0;
  #arrivals = 0;
  #tasks = 0;

  /** @param lateFrom when a need is late, as far as is known of it */
  constructor(order: NeedOrder, lateFrom?: (need: Need) => Millis) {
    this.#order = order;
    this.#lateFrom = lateFrom;
  }

  /** Batches that need somebody. */
  get size(): number {
    return this.#byKey.size;
  }

  /** Tasks without a worker. */
  get tasks(): number {
    return this.#tasks;
  }

  add(fields: Omit<Need, 'id' | 'held'>): Need {
    const id = this.#freeIds.pop() ?? this.#needs.length;
    const need: Need = { ...fields, id, held: new Set() };
    this.#needs[id] = need;
    this.#arrivalOf[id] = this.#arrivals++;
    this.#tasks += need.tasks;
    this.#list(need);
    return need;
  }

  /** Its owner knows better by now. */
  setEstimate(need: Need, estimateMs: Millis): void {
    if (estimateMs === need.estimateMs) return;
    if (need.estimateMs > 0) need.sizeMs *= estimateMs / need.estimateMs;
    need.estimateMs = estimateMs;
    this.#byLateness.delete(need.id);
    if (need.tasks > 0) this.#list(need);
  }

  setTasks(need: Need, tasks: number): void {
    this.#tasks += tasks - need.tasks;
    need.tasks = tasks;
    if (tasks === 0) this.#unlist(need);
    else this.#list(need);
  }

  /** A worker was found for one of its tasks. */
  matched(need: Need, now: Millis): void {
    need.matches++;
    need.waitsSince = now;
    this.setTasks(need, need.tasks - 1);
  }

  remove(need: Need): void {
    this.setTasks(need, 0);
    this.#needs[need.id] = undefined;
    this.#freeIds.push(need.id);
  }

  /** The first in order whose tasks fit, or undefined. */
  first(fits: (need: Need) => boolean): Need | undefined {
    return this.#firstUntil(this.#byKey, Number.POSITIVE_INFINITY, this.#demanding === 0 ? anything : fits);
  }

  /** Its place in the order, among needs of another list with the same order. */
  keyOf(need: Need): number {
    return this.#byKey.keyOf(need.id) ?? Number.POSITIVE_INFINITY;
  }

  /** Of those that have waited since `before` or longer and are accepted, the one that has waited longest. */
  overdue(before: Millis, accepts: (need: Need) => boolean): Need | undefined {
    return this.#firstUntil(this.#byWait, before, accepts);
  }

  /** Of those that are late and are accepted, the one that has been late for longest. */
  late(now: Millis, accepts: (need: Need) => boolean): Need | undefined {
    return this.#firstUntil(this.#byLateness, now, accepts);
  }

  isLate(need: Need, now: Millis): boolean {
    return (this.#byLateness.keyOf(need.id) ?? Number.POSITIVE_INFINITY) <= now;
  }

  *[Symbol.iterator](): Iterator<Need> {
    for (const need of this.#needs) if (need !== undefined) yield need;
  }

  /** The least, by a key that is at most `last`. */
  #firstUntil(heap: IndexedHeap, last: Millis, accepts: (need: Need) => boolean): Need | undefined {
    if (heap.size === 0 || heap.topKey() > last) return undefined;
    const top = this.#needs[heap.top()]!;
    if (accepts(top)) return top;
    let first: Need | undefined;
    for (const id of heap.ids()) {
      if (heap.keyOf(id)! > last || (first !== undefined && !heap.isBefore(id, first.id))) continue;
      if (accepts(this.#needs[id]!)) first = this.#needs[id];
    }
    return first;
  }

  #list(need: Need): void {
    if (!this.#byKey.has(need.id) && isDemanding(need)) this.#demanding++;
    this.#byKey.set(need.id, needKey(this.#order, need, this.#arrivalOf[need.id]!));
    this.#byWait.set(need.id, need.waitsSince);
    if (this.#lateFrom !== undefined && !this.#byLateness.has(need.id))
      this.#byLateness.set(need.id, this.#lateFrom(need));
  }

  #unlist(need: Need): void {
    if (!this.#byKey.delete(need.id)) return;
    this.#byWait.delete(need.id);
    this.#byLateness.delete(need.id);
    if (isDemanding(need)) this.#demanding--;
  }
}

/**
 * Whether a job comes before one that would be first by its remaining work.
 *
 * @param weight its own work counts so many times less
 */
export function overtakes(
  one: Pick<Need, 'estimateMs' | 'tasks'>,
  other: Pick<Need, 'estimateMs' | 'tasks'>,
  weight: number,
): boolean {
  return one.estimateMs * one.tasks < weight * other.estimateMs * other.tasks;
}

/** What asks for no more than a slot fits wherever one is free. */
const anything = (): boolean => true;

/** Whether its tasks ask for more than a slot. */
export function isDemanding({ demand }: Need): boolean {
  for (const _ in demand) return true;
  return false;
}
