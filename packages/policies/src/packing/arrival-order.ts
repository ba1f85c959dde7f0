import { OrderedNumbers } from '@goshawk/core';
import { remainder } from './remainder.js';
import type { Waiting } from './waiting.js';

/** Groups are below this: they share 52 bits with a sequence. */
const GROUPS_MAX = 2 ** 25;

/** Groups in order of arrival. What comes back has its old place. */
export class ArrivalOrder {
  readonly #keys = new OrderedNumbers();
  readonly #waiting: Waiting;
  #head = -1;

  constructor(waiting: Waiting) {
    this.#waiting = waiting;
  }

  /** The oldest group; −1: none waits. */
  head(): number {
    return this.#head;
  }

  add(group: number): void {
    const key = this.#keyOf(group);
    this.#keys.add(key);
    if (this.#head < 0 || key < this.#keyOf(this.#head)) this.#head = group;
  }

  remove(group: number): void {
    this.#keys.delete(this.#keyOf(group));
    if (group === this.#head)
      this.#head = this.#keys.size === 0 ? -1 : remainder(this.#keys.first(), GROUPS_MAX);
  }

  #keyOf(group: number): number {
    return this.#waiting.sequence[group]! * GROUPS_MAX + group;
  }
}
