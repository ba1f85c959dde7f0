import { IndexedHeap } from '@goshawk/core';
import type { QueuedUser } from './kind-queues.js';
import { mergedInOrder } from './merging.js';

/** Users by share, those with the lowest first. Equal shares are in order of arrival. */
export class UsersInOrder {
  readonly #users: readonly (QueuedUser | undefined)[];
  readonly #heap: IndexedHeap;

  /**
   * @param users all users by id
   * @param ranks their order of arrival, by id
   */
  constructor(users: readonly (QueuedUser | undefined)[], ranks: readonly number[]) {
    this.#users = users;
    this.#heap = new IndexedHeap(ranks);
  }

  get isEmpty(): boolean {
    return this.#heap.size === 0;
  }

  get first(): QueuedUser | undefined {
    return this.isEmpty ? undefined : this.#users[this.#heap.top()];
  }

  /** Adds or removes the user. */
  put(user: QueuedUser, isIn: boolean): void {
    if (!isIn) this.#heap.delete(user.id);
    else if (!this.#heap.has(user.id)) this.#heap.set(user.id, user.share);
  }

  /** The share of the user has changed. */
  update(user: QueuedUser): void {
    if (this.#heap.has(user.id)) this.#heap.set(user.id, user.share);
  }

  [Symbol.iterator](): Iterator<QueuedUser> {
    // Most orders have one user, for whom an array costs less than a generator.
    return this.#heap.size === 1 ? [this.first!].values() : this.#inOrder();
  }

  *#inOrder(): Iterator<QueuedUser> {
    for (const id of this.#heap.inOrder()) yield this.#users[id]!;
  }
}

/** Whether the first of two users is served before the other. */
export function isServedBefore(one: QueuedUser, other: QueuedUser): boolean {
  return one.share === other.share ? one.rank < other.rank : one.share < other.share;
}

/** Users of several orders, in order, each once. */
export function merged(orders: readonly UsersInOrder[]): Iterable<QueuedUser> {
  return orders.length === 1 ? orders[0]! : eachOnce(orders);
}

function* eachOnce(orders: readonly UsersInOrder[]): Iterable<QueuedUser> {
  let before: QueuedUser | undefined;
  for (const user of mergedInOrder(orders, isServedBefore)) {
    if (user !== before) yield user;
    before = user;
  }
}
