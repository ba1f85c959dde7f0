import { Deque } from '@goshawk/core';
import type { Group } from './group.js';

/**
 * Groups in order of arrival. Groups that return keep their position and are stored separately. A group is in
 * at most one order.
 */
export class ArrivalOrder {
  /** Groups without waiting tasks are dropped when they reach the front. */
  #queue = new Deque<Group>();
  readonly #returned: Group[] = [];
  /** Sequence number of the last group that was added to the queue. */
  #lastSequence = -1;
  #size = 0;
  #head: Group | undefined;

  /** The oldest group; undefined: none waits. */
  head(): Group | undefined {
    return this.#head;
  }

  add(group: Group): void {
    this.#size++;
    if (group.sequence > this.#lastSequence) {
      if (this.#queue.length >= 2 * this.#size + SPARE) this.#renew();
      this.#queue.push(group);
      this.#lastSequence = group.sequence;
    } else {
      const after = this.#returned.findLastIndex(({ sequence }) => sequence < group.sequence);
      this.#returned.splice(after + 1, 0, group);
    }
    if (this.#head === undefined || group.sequence < this.#head.sequence) this.#head = group;
  }

  /** Removes a group whose tasks no longer wait. */
  remove(group: Group): void {
    this.#size--;
    if (group === this.#head) this.#head = this.#next();
  }

  #next(): Group | undefined {
    while (this.#queue.at(0)?.count === 0) this.#queue.shift();
    const next = this.#queue.at(0);
    if (this.#returned.length === 0) return next;
    while (this.#returned[0]?.count === 0) this.#returned.shift();
    const returned = this.#returned[0];
    const isOlder = returned !== undefined && (next === undefined || returned.sequence < next.sequence);
    return isOlder ? returned : next;
  }

  /** Removes groups that no longer wait, so that the queue stays proportional to the waiting ones. */
  #renew(): void {
    const before = this.#queue;
    this.#queue = new Deque();
    for (const group of before) if (group.count > 0) this.#queue.push(group);
  }
}

const SPARE = 64;
