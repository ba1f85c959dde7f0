import { MaxTree, OrderedNumbers } from '@goshawk/core';
import type { Fit } from './fit.js';
import { remainder } from './remainder.js';
import { SEQUENCE_MAX, type Waiting } from './waiting.js';

/** Server numbers are below this: they share 52 bits with a room. */
const SERVERS_MAX = 2 ** 27;

/**
 * One resource, in units below 2^25. Servers by number, for the first that fits; or by room, for the one of least room
 * that fits, the lowest number of equals. Groups by size and age.
 */
export class ScalarFit implements Fit {
  readonly #waiting: Waiting;
  readonly #capacityOf: (server: number) => number;
  readonly #byNumber: MaxTree | undefined;
  readonly #byRoom: OrderedNumbers | undefined;
  readonly #bySize = new OrderedNumbers();
  /** The last that was added, until somebody asks for sizes: most are placed before, and need no order. −1: none. */
  #unordered = -1;
  readonly #room: number[] = [];
  readonly #isOpen: boolean[] = [];

  constructor(waiting: Waiting, rule: 'first' | 'best', capacityOf: (server: number) => number) {
    this.#waiting = waiting;
    this.#capacityOf = capacityOf;
    this.#byNumber = rule === 'first' ? new MaxTree() : undefined;
    this.#byRoom = rule === 'best' ? new OrderedNumbers() : undefined;
  }

  /** Units that are free at the server. */
  room(server: number): number {
    return this.#room[server] ?? this.#capacityOf(server);
  }

  open(server: number): void {
    this.#isOpen[server] = true;
    this.#setRoom(server, this.room(server));
  }

  close(server: number): void {
    this.#byNumber?.set(server, -1);
    this.#byRoom?.delete(this.room(server) * SERVERS_MAX + server);
    this.#isOpen[server] = false;
  }

  // First fit asks for no size.
  add(group: number): void {
    if (this.#byRoom === undefined) return;
    this.#order();
    this.#unordered = this.#keyOf(group);
  }

  remove(group: number): void {
    if (this.#byRoom === undefined) return;
    const key = this.#keyOf(group);
    if (key === this.#unordered) this.#unordered = -1;
    else this.#bySize.delete(key);
  }

  take(server: number, size: number): void {
    this.#setRoom(server, this.room(server) - size);
  }

  give(server: number, size: number): void {
    this.#setRoom(server, this.room(server) + size);
  }

  // Its rooms are what came and left.
  refresh(): void {}

  serverFor(group: number): number {
    const size = this.#waiting.size[group]!;
    if (this.#byNumber !== undefined) return this.#byNumber.firstFrom(0, size);
    const key = this.#byRoom!.atLeast(size * SERVERS_MAX);
    return Number.isNaN(key) ? -1 : remainder(key, SERVERS_MAX);
  }

  groupFor(server: number): number {
    return this.largestOf(server, 0, Number.POSITIVE_INFINITY);
  }

  largestOf(server: number, above: number, upTo: number): number {
    this.#order();
    const bound = Math.min(this.room(server), upTo);
    const key = this.#bySize.atMost((bound + 1) * SEQUENCE_MAX - 1);
    // No number at all fails the comparison as well.
    if (!(key >= (above + 1) * SEQUENCE_MAX)) return -1;
    return this.#waiting.groupOf(SEQUENCE_MAX - 1 - remainder(key, SEQUENCE_MAX))!;
  }

  #order(): void {
    if (this.#unordered >= 0) this.#bySize.add(this.#unordered);
    this.#unordered = -1;
  }

  /** Larger sizes later, of equal ones the older. */
  #keyOf(group: number): number {
    const { size, sequence } = this.#waiting;
    return size[group]! * SEQUENCE_MAX + (SEQUENCE_MAX - 1 - sequence[group]!);
  }

  #setRoom(server: number, room: number): void {
    if (this.#isOpen[server]) {
      this.#byNumber?.set(server, room);
      this.#byRoom?.delete(this.room(server) * SERVERS_MAX + server);
      this.#byRoom?.add(room * SERVERS_MAX + server);
    }
    this.#room[server] = room;
  }
}
