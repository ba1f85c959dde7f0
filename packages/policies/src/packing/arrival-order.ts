import { OrderedNumbers } from '@goshawk/core';
import type { Waiting } from './waiting.js';

/** Groups are below this: they share 52 bits with a sequence. */
const GROUPS_MAX = 2 ** 25;

/** Groups in order of arrival. What comes back has its old place. */
export class ArrivalOrder {
  readonly #keys = new OrderedNumbers();
  readonly #waiting: Waiting;

  constructor(waiting: Waiting) {
    this.#waiting = waiting;
  }

  /** The oldest group; −1: none waits. */
  head(): number {
    return this.#keys.size === 0 ? -1 : this.#keys.first() % GROUPS_MAX;
  }

  add(group: number): void {
    this.#keys.add(this.#keyOf(group));
  }

  remove(group: number): void {
    this.#keys.delete(this.#keyOf(group));
  }

  #keyOf(group: number): number {
    return this.#waiting.sequence[group]! * GROUPS_MAX + group;
  }
}
