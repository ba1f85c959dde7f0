import { OrderedNumbers } from '@goshawk/core';
import type { Fit } from './fit.js';
import type { Group } from './group.js';
import { MaxTree } from './max-tree.js';

/** Upper bound of server numbers and sequences, which share 52 bits with a room or a size. */
const NUMBERS = 2 ** 27;

/**
 * One resource, in units below 2^25. Servers are indexed by number, for first fit, or by room, for best fit with ties
 * to the lowest number. Groups are indexed by size and age.
 */
export class ScalarFit implements Fit {
  readonly #capacityOf: (server: number) => number;
  readonly #byNumber: MaxTree | undefined;
  readonly #byRoom: OrderedNumbers | undefined;
  readonly #bySize = new OrderedNumbers();
  /** Groups in `#bySize`, by sequence. */
  readonly #groups = new Map<number, Group>();
  /** The last group added. It is indexed when sizes are queried; most groups are placed before that. */
  #unordered: Group | undefined;
  readonly #room: number[] = [];
  readonly #isOpen: boolean[] = [];

  constructor(rule: 'first' | 'best', capacityOf: (server: number) => number) {
    this.#capacityOf = capacityOf;
    this.#byNumber = rule === 'first' ? new MaxTree() : undefined;
    this.#byRoom = rule === 'best' ? new OrderedNumbers() : undefined;
  }

  open(server: number): void {
    this.#isOpen[server] = true;
    this.used(server, 0);
  }

  close(server: number): void {
    this.#byNumber?.set(server, -1);
    this.#byRoom?.delete(this.#roomAt(server) * NUMBERS + server);
    this.#isOpen[server] = false;
  }

  // First fit does not query sizes.
  add(group: Group): void {
    if (this.#byRoom === undefined) return;
    this.#order();
    this.#unordered = group;
  }

  remove(group: Group): void {
    if (group === this.#unordered) this.#unordered = undefined;
    else if (this.#bySize.delete(keyOf(group))) this.#groups.delete(group.sequence);
  }

  used(server: number, size: number): void {
    const before = this.#roomAt(server);
    const room = before - size;
    this.#room[server] = room;
    if (!this.#isOpen[server]) return;
    this.#byNumber?.set(server, room);
    this.#byRoom?.delete(before * NUMBERS + server);
    this.#byRoom?.add(room * NUMBERS + server);
  }

  serverFor({ size }: Group): number {
    if (this.#byNumber !== undefined) return this.#byNumber.firstFrom(0, size);
    const key = this.#byRoom!.atLeast(size * NUMBERS);
    return Number.isNaN(key) ? -1 : numberOf(key);
  }

  groupFor(server: number): Group | undefined {
    return this.largestOf(server, 0, Number.POSITIVE_INFINITY);
  }

  largestOf(server: number, above: number, upTo: number): Group | undefined {
    this.#order();
    const bound = Math.min(this.#roomAt(server), upTo);
    const key = this.#bySize.atMost((bound + 1) * NUMBERS - 1);
    // The negated comparison also covers NaN.
    if (!(key >= (above + 1) * NUMBERS)) return undefined;
    return this.#groups.get(NUMBERS - 1 - numberOf(key));
  }

  #roomAt(server: number): number {
    return this.#room[server] ?? this.#capacityOf(server);
  }

  #order(): void {
    const group = this.#unordered;
    if (group === undefined) return;
    this.#bySize.add(keyOf(group));
    this.#groups.set(group.sequence, group);
    this.#unordered = undefined;
  }
}

/** Larger sizes sort later; among equal sizes, older ones. */
function keyOf({ size, sequence }: Group): number {
  return size * NUMBERS + (NUMBERS - 1 - sequence);
}

/**
 * The number in a key. The subtraction is faster than `%`, which calls a function for numbers above 32 bits.
 */
function numberOf(key: number): number {
  return key - Math.floor(key / NUMBERS) * NUMBERS;
}
