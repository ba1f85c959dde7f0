import { fitsIn, type Vector } from '@goshawk/core';
import { ArrivalOrder } from './arrival-order.js';
import type { Fit } from './fit.js';
import type { Waiting } from './waiting.js';

/** A server of several resources, as its books have it. */
export interface VectorServer {
  readonly capacity: Vector;
  readonly free: Vector;
}

/** Groups of one demand, in order of arrival. */
interface Shape {
  readonly key: string;
  readonly demand: Vector;
  readonly size: number;
  readonly order: ArrivalOrder;
}

/**
 * Several resources (§VIII). A task fits where it fits in each. The score of a task at a server is Σ demand · occupied, both
 * as shares of the server (Tetris): of high score is what leaves the least over. There is no order to search, so servers
 * are scanned, and demands; what cannot fit anywhere is told by the largest amounts free.
 */
export class VectorFit implements Fit {
  readonly #waiting: Waiting;
  readonly #rule: 'first' | 'best';
  readonly #serverAt: (server: number) => VectorServer;
  readonly #demandOf: (group: number) => Vector;
  readonly #isOpen: boolean[] = [];
  /** Of any open server, at least. */
  #mostFree: number[] = [];
  readonly #shapes = new Map<string, Shape>();
  readonly #shapeOf: Shape[] = [];

  constructor(
    waiting: Waiting,
    rule: 'first' | 'best',
    serverAt: (server: number) => VectorServer,
    demandOf: (group: number) => Vector,
  ) {
    this.#waiting = waiting;
    this.#rule = rule;
    this.#serverAt = serverAt;
    this.#demandOf = demandOf;
  }

  open(server: number): void {
    this.#isOpen[server] = true;
    this.#raise(server);
  }

  close(server: number): void {
    this.#isOpen[server] = false;
  }

  add(group: number): void {
    const demand = this.#demandOf(group);
    const size = this.#waiting.size[group]!;
    const key = `${demand}`;
    let shape = this.#shapes.get(key);
    if (shape === undefined) {
      shape = { key, demand, size, order: new ArrivalOrder(this.#waiting) };
      this.#shapes.set(key, shape);
    }
    shape.order.add(group);
    this.#shapeOf[group] = shape;
  }

  remove(group: number): void {
    const { key, order } = this.#shapeOf[group]!;
    order.remove(group);
    if (order.head() < 0) this.#shapes.delete(key);
  }

  // Rooms are the books'.
  take(): void {}

  give(server: number): void {
    this.#raise(server);
  }

  refresh(server: number): void {
    this.#raise(server);
  }

  holds(server: number, group: number): boolean {
    return this.#isOpen[server] === true && fitsIn(this.#demandOf(group), this.#serverAt(server).free);
  }

  serverFor(group: number): number {
    const demand = this.#demandOf(group);
    if (!fitsIn(demand, this.#mostFree)) return -1;
    let best = -1;
    let highest = Number.NEGATIVE_INFINITY;
    const most: number[] = [];
    for (let server = 0; server < this.#isOpen.length; server++) {
      if (!this.#isOpen[server]) continue;
      const at = this.#serverAt(server);
      raise(most, at.free);
      if (!fitsIn(demand, at.free)) continue;
      if (this.#rule === 'first') return server;
      const score = placeScore(demand, at);
      if (score <= highest) continue;
      highest = score;
      best = server;
    }
    this.#mostFree = most;
    return best;
  }

  groupFor(server: number): number {
    const at = this.#serverAt(server);
    if (this.#isOpen[server] !== true) return -1;
    let best: Shape | undefined;
    let highest = Number.NEGATIVE_INFINITY;
    for (const shape of this.#shapes.values()) {
      if (!fitsIn(shape.demand, at.free)) continue;
      const score = tetrisScore(shape.demand, at);
      if (score < highest || (score === highest && !isBefore(shape, best!, at, this.#waiting))) continue;
      highest = score;
      best = shape;
    }
    return best?.order.head() ?? -1;
  }

  largestOf(server: number, above: number, upTo: number): number {
    const { free } = this.#serverAt(server);
    if (this.#isOpen[server] !== true) return -1;
    let best = -1;
    for (const { size, demand, order } of this.#shapes.values()) {
      if (size <= above || size > upTo || !fitsIn(demand, free)) continue;
      const head = order.head();
      const sizes = this.#waiting.size;
      const { sequence } = this.#waiting;
      if (best < 0 || size > sizes[best]! || (size === sizes[best]! && sequence[head]! < sequence[best]!))
        best = head;
    }
    return best;
  }

  #raise(server: number): void {
    if (this.#isOpen[server] === true) raise(this.#mostFree, this.#serverAt(server).free);
  }
}

/** Σ demand · occupied over resources, both as shares of the server, before the task is placed. */
export function tetrisScore(demand: Vector, { capacity, free }: VectorServer): number {
  let score = 0;
  for (let index = 0; index < demand.length; index++) {
    const all = capacity[index]!;
    if (demand[index] !== 0 && all > 0 && Number.isFinite(all))
      score += (demand[index]! / all) * (1 - free[index]! / all);
  }
  return score;
}

/** Of one resource the least room is the best fit, whatever the servers' sizes. */
function placeScore(demand: Vector, server: VectorServer): number {
  return server.capacity.length === 1 ? -server.free[0]! : tetrisScore(demand, server);
}

/** Of equal scores the largest sum of demands comes first, then the oldest. */
function isBefore(one: Shape, other: Shape, { capacity }: VectorServer, { sequence }: Waiting): boolean {
  const sums = [one, other].map(({ demand }) =>
    demand.reduce((sum, amount, index) => sum + (amount === 0 ? 0 : amount / capacity[index]!), 0),
  );
  if (sums[0] !== sums[1]) return sums[0]! > sums[1]!;
  return sequence[one.order.head()]! < sequence[other.order.head()]!;
}

function raise(most: number[], free: Vector): void {
  for (let index = 0; index < free.length; index++) {
    if (!(free[index]! <= most[index]!)) most[index] = free[index]!;
  }
}
