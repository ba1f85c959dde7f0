import { IndexedHeap } from '@goshawk/core';
import type { UserLines } from './line.js';
import { mergedInOrder } from './merging.js';

/** Users by share, those with the lowest first. Equal shares are in order of arrival. */
export class UsersInOrder {
  readonly #users: readonly (UserLines | undefined)[];
  readonly #heap: IndexedHeap;

  /**
   * @param users all users by id
   * @param ranks their order of arrival, by id
   */
  constructor(users: readonly (UserLines | undefined)[], ranks: readonly number[]) {
    this.#users = users;
    this.#heap = new IndexedHeap(ranks);
  }

  get isEmpty(): boolean {
    return this.#heap.size === 0;
  }

  get first(): UserLines | undefined {
    return this.isEmpty ? undefined : this.#users[this.#heap.top()];
  }

  /** Adds or removes the user. */
  put(user: UserLines, isIn: boolean): void {
    if (!isIn) this.#heap.delete(user.id);
    else if (!this.#heap.has(user.id)) this.#heap.set(user.id, user.share);
  }

  /** The share of the user has changed. */
  update(user: UserLines): void {
    if (this.#heap.has(user.id)) this.#heap.set(user.id, user.share);
  }

  [Symbol.iterator](): Iterator<UserLines> {
    // Most orders have one user, for whom an array costs less than a generator.
    return this.#heap.size === 1 ? [this.first!].values() : this.#inOrder();
  }

  *#inOrder(): Iterator<UserLines> {
    for (const id of this.#heap.inOrder()) yield this.#users[id]!;
  }
}

/** Whether the first of two users is served before the other. */
export function isServedBefore(one: UserLines, other: UserLines): boolean {
  return one.share === other.share ? one.rank < other.rank : one.share < other.share;
}

/** Users of several orders, in order, each once. */
export function merged(orders: readonly UsersInOrder[]): Iterable<UserLines> {
  return orders.length === 1 ? orders[0]! : eachOnce(orders);
}

function* eachOnce(orders: readonly UsersInOrder[]): Iterable<UserLines> {
  let before: UserLines | undefined;
  for (const user of mergedInOrder(orders, isServedBefore)) {
    if (user !== before) yield user;
    before = user;
  }
}
