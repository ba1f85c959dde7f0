import { OrderedNumbers } from '@goshawk/core';
import { remainder } from './remainder.js';
import type { Waiting } from './waiting.js';

/** Groups are below this: they share 52 bits with a sequence. */
const GROUPS_MAX = 2 ** 25;
const NONE = -1;

/**
 * Groups in order of arrival: a ring, from whose front those that wait no more are dropped. What comes back has its old
 * place, and is kept apart. A group is in one order at most.
 */
export class ArrivalOrder {
  readonly #waiting: Waiting;
  /** A power of two long, or empty. */
  #ring = new Float64Array(0);
  #front = 0;
  #length = 0;
  /** The last that was put into the ring. */
  #last = NONE;
  /** That wait. */
  #size = 0;
  #returned: OrderedNumbers | undefined;
  #head = NONE;

  constructor(waiting: Waiting) {
    this.#waiting = waiting;
  }

  /** The oldest group; −1: none waits. */
  head(): number {
    return this.#head;
  }

  add(group: number): void {
    const key = this.#waiting.sequence[group]! * GROUPS_MAX + group;
    this.#waiting.orderKey[group] = key;
    this.#size++;
    if (key > this.#last) {
      this.#push(key);
    } else {
      this.#returned ??= new OrderedNumbers();
      this.#returned.add(key);
    }
    if (this.#head === NONE || key < this.#waiting.orderKey[this.#head]!) this.#head = group;
  }

  remove(group: number): void {
    const key = this.#waiting.orderKey[group]!;
    this.#waiting.orderKey[group] = NONE;
    this.#size--;
    this.#returned?.delete(key);
    if (group === this.#head) this.#head = this.#next();
  }

  #next(): number {
    if (this.#size === 0) {
      this.#length = 0;
      return NONE;
    }
    const mask = this.#ring.length - 1;
    let key = Number.POSITIVE_INFINITY;
    for (; this.#length > 0; this.#length--) {
      const front = this.#ring[this.#front]!;
      if (this.#waits(front)) {
        key = front;
        break;
      }
      this.#front = (this.#front + 1) & mask;
    }
    if (this.#returned !== undefined && this.#returned.first() < key) key = this.#returned.first();
    return remainder(key, GROUPS_MAX);
  }

  #waits(key: number): boolean {
    return this.#waiting.orderKey[remainder(key, GROUPS_MAX)] === key;
  }

  #push(key: number): void {
    if (this.#length === this.#ring.length) this.#renew();
    this.#ring[(this.#front + this.#length++) & (this.#ring.length - 1)] = key;
    this.#last = key;
  }

  /** Leaves out those that wait no more, so that the ring is as long as what waits asks for. */
  #renew(): void {
    const before = this.#ring;
    let length = INITIAL;
    while (length < 2 * this.#size) length *= 2;
    const ring = new Float64Array(length);
    let kept = 0;
    for (let at = 0; at < this.#length; at++) {
      const key = before[(this.#front + at) & (before.length - 1)]!;
      if (this.#waits(key)) ring[kept++] = key;
    }
    this.#ring = ring;
    this.#front = 0;
    this.#length = kept;
  }
}

const INITIAL = 4;
