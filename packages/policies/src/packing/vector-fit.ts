import {
  type Attributes,
  fitsIn,
  formatAttributes,
  mayRun,
  type PointSearch,
  Points,
  type Vector,
} from '@goshawk/core';
import { ArrivalOrder } from './arrival-order.js';
import type { Fit } from './fit.js';
import type { Waiting } from './waiting.js';

/** A server of several resources, as its books have it. */
export interface VectorServer {
  readonly capacity: Vector;
  readonly free: Vector;
  readonly attributes?: Attributes;
}

/** What servers and groups are like. */
interface VectorFacts {
  readonly serverAt: (server: number) => VectorServer;
  readonly demandOf: (group: number) => Vector;
  /** Attributes that a server must have for the group; absent: any will do for all. */
  readonly requiresOf?: (group: number) => Attributes | undefined;
  /** The most that any server has of each resource. */
  readonly largest: Vector;
}

/** Groups of one demand that require the same, in order of arrival. */
interface Shape {
  readonly id: number;
  readonly key: string;
  readonly demand: Vector;
  readonly requires: Attributes | undefined;
  readonly size: number;
  readonly order: ArrivalOrder;
}

/**
 * Several resources (§VIII). A task fits where it fits in each. The score of a task at a server is Σ demand · occupied, both
 * as shares of the server (Tetris): of high score is what leaves the least over. There is no one order to search, so servers
 * are found by where their rooms lie, and tasks by what they need.
 */
export class VectorFit implements Fit {
  readonly #waiting: Waiting;
  readonly #facts: VectorFacts;
  /** Of those that are open, what is free there and their capacity. */
  readonly #servers: Points;
  readonly #serverFor: ServerSearch;
  /** What each needs, and its size. */
  readonly #shapes: Points;
  readonly #groupFor: ShapeSearch;
  readonly #largestOf: SizeSearch;
  readonly #shapeByKey = new Map<string, Shape>();
  /** By id. */
  readonly #shapeAt: (Shape | undefined)[] = [];
  readonly #freeIds: number[] = [];
  readonly #shapeOf: Shape[] = [];

  constructor(waiting: Waiting, rule: 'first' | 'best', facts: VectorFacts) {
    const { serverAt, largest } = facts;
    this.#waiting = waiting;
    this.#facts = facts;
    this.#servers = new Points(2 * largest.length, rule === 'first' ? [] : largest);
    this.#serverFor = new ServerSearch(rule, largest.length, serverAt);
    this.#shapes = new Points(largest.length + 1, largest);
    const shapeAt = (id: number): Shape => this.#shapeAt[id]!;
    this.#groupFor = new ShapeSearch(waiting, shapeAt);
    this.#largestOf = new SizeSearch(waiting, shapeAt, largest.length);
  }

  open(server: number): void {
    const { capacity, free } = this.#facts.serverAt(server);
    const { length } = this.#facts.largest;
    const point = Array.from({ length: 2 * length }, (_, column) =>
      column < length ? (free[column] ?? 0) : (capacity[column - length] ?? 0),
    );
    this.#servers.set(server, point);
  }

  close(server: number): void {
    this.#servers.delete(server);
  }

  add(group: number): void {
    const demand = this.#facts.demandOf(group);
    const requires = this.#facts.requiresOf?.(group);
    const key = requires === undefined ? `${demand}` : `${demand} ${formatAttributes(requires)}`;
    let shape = this.#shapeByKey.get(key);
    if (shape === undefined) {
      const id = this.#freeIds.pop() ?? this.#shapeAt.length;
      const order = new ArrivalOrder(this.#waiting);
      shape = { id, key, demand, requires, size: this.#waiting.size[group]!, order };
      this.#shapeByKey.set(key, shape);
      this.#shapeAt[id] = shape;
      const { length } = this.#facts.largest;
      const point = Array.from({ length }, (_, column) => demand[column] ?? 0);
      this.#shapes.set(id, [...point, shape.size]);
    }
    shape.order.add(group);
    this.#shapeOf[group] = shape;
  }

  remove(group: number): void {
    const { id, key, order } = this.#shapeOf[group]!;
    order.remove(group);
    if (order.head() >= 0) return;
    this.#shapeByKey.delete(key);
    this.#shapeAt[id] = undefined;
    this.#freeIds.push(id);
    this.#shapes.delete(id);
  }

  // Rooms are the books'.
  take(server: number): void {
    this.refresh(server);
  }

  give(server: number): void {
    this.refresh(server);
  }

  refresh(server: number): void {
    if (this.#servers.has(server)) this.open(server);
  }

  serverFor(group: number): number {
    this.#serverFor.begin(this.#facts.demandOf(group), this.#facts.requiresOf?.(group));
    this.#servers.search(this.#serverFor);
    return this.#serverFor.found;
  }

  groupFor(server: number): number {
    if (!this.#servers.has(server)) return -1;
    this.#groupFor.begin(this.#facts.serverAt(server));
    this.#shapes.search(this.#groupFor);
    return this.#groupFor.found?.order.head() ?? -1;
  }

  largestOf(server: number, above: number, upTo: number): number {
    if (!this.#servers.has(server)) return -1;
    this.#largestOf.begin(this.#facts.serverAt(server), above, upTo);
    this.#shapes.search(this.#largestOf);
    return this.#largestOf.found?.order.head() ?? -1;
  }
}

/** The server that a task goes to: the first that fits, or that of highest score; of equal ones the first. */
class ServerSearch implements PointSearch {
  readonly #rule: 'first' | 'best';
  readonly #resources: number;
  readonly #serverAt: (server: number) => VectorServer;
  #demand: Vector = [];
  requires: Attributes | undefined;
  best = Number.NEGATIVE_INFINITY;
  bestTie = 0;
  found = -1;

  constructor(rule: 'first' | 'best', resources: number, serverAt: (server: number) => VectorServer) {
    this.#rule = rule;
    this.#resources = resources;
    this.#serverAt = serverAt;
  }

  begin(demand: Vector, requires: Attributes | undefined): void {
    this.#demand = demand;
    this.requires = requires;
    this.best = Number.NEGATIVE_INFINITY;
    this.found = -1;
  }

  // The same sums as of a score, so that rounding does not part them.
  bound(lows: Float64Array, highs: Float64Array): number {
    const resources = this.#resources;
    const demand = this.#demand;
    let score = 0;
    for (let index = 0; index < resources && index < demand.length; index++) {
      const amount = demand[index]!;
      if (highs[index]! < amount) return Number.NEGATIVE_INFINITY;
      const least = lows[resources + index]!;
      if (amount === 0 || least === Number.POSITIVE_INFINITY) continue;
      const free = lows[index]! > amount ? lows[index]! : amount;
      const occupied = 1 - free / highs[resources + index]!;
      if (occupied > 0) score += (amount / least) * occupied;
    }
    if (this.#rule === 'first') return 0;
    return resources === 1 ? -Math.max(lows[0]!, demand[0]!) : score;
  }

  tieBound(_lows: Float64Array, _highs: Float64Array, leastId: number): number {
    return -leastId;
  }

  look(server: number): void {
    const at = this.#serverAt(server);
    if (!fitsIn(this.#demand, at.free) || !mayRun(at, this)) return;
    const score = this.#rule === 'first' ? 0 : placeScore(this.#demand, at);
    if (score < this.best || (score === this.best && -server < this.bestTie)) return;
    this.best = score;
    this.bestTie = -server;
    this.found = server;
  }
}

/** The task that a server with room takes: of highest score; of equal ones the largest sum of demands, then the oldest. */
class ShapeSearch implements PointSearch {
  readonly #waiting: Waiting;
  readonly #shapeAt: (id: number) => Shape;
  #server: VectorServer = { capacity: [], free: [] };
  best = Number.NEGATIVE_INFINITY;
  bestTie = 0;
  found: Shape | undefined;

  constructor(waiting: Waiting, shapeAt: (id: number) => Shape) {
    this.#waiting = waiting;
    this.#shapeAt = shapeAt;
  }

  begin(server: VectorServer): void {
    this.#server = server;
    this.best = Number.NEGATIVE_INFINITY;
    this.found = undefined;
  }

  bound(lows: Float64Array, highs: Float64Array): number {
    const { capacity, free } = this.#server;
    let score = 0;
    for (let index = 0; index < highs.length - 1; index++) {
      const room = free[index] ?? 0;
      if (lows[index]! > room) return Number.NEGATIVE_INFINITY;
      const all = capacity[index]!;
      const most = highs[index]! < room ? highs[index]! : room;
      const occupied = 1 - room / all;
      if (most > 0 && all > 0 && all < Number.POSITIVE_INFINITY && occupied > 0)
        score += (most / all) * occupied;
    }
    return score;
  }

  tieBound(_lows: Float64Array, highs: Float64Array): number {
    const { capacity, free } = this.#server;
    let sum = 0;
    for (let index = 0; index < highs.length - 1; index++) {
      const most = Math.min(highs[index]!, free[index] ?? 0);
      if (most > 0) sum += most / capacity[index]!;
    }
    return sum;
  }

  look(id: number): void {
    const shape = this.#shapeAt(id);
    if (!fitsIn(shape.demand, this.#server.free) || !mayRun(this.#server, shape)) return;
    const score = tetrisScore(shape.demand, this.#server);
    const sum = sumOf(shape.demand, this.#server);
    if (score < this.best || (score === this.best && sum < this.bestTie)) return;
    if (score === this.best && sum === this.bestTie && !isOlder(shape, this.found!, this.#waiting)) return;
    this.best = score;
    this.bestTie = sum;
    this.found = shape;
  }
}

/** The largest task that fits, within bounds of its size; of equal ones the oldest. */
class SizeSearch implements PointSearch {
  readonly #waiting: Waiting;
  readonly #shapeAt: (id: number) => Shape;
  readonly #resources: number;
  #server: VectorServer = { capacity: [], free: [] };
  #above = 0;
  #upTo = 0;
  best = Number.NEGATIVE_INFINITY;
  /** Ages are not told by bounds. */
  readonly bestTie = 0;
  found: Shape | undefined;

  constructor(waiting: Waiting, shapeAt: (id: number) => Shape, resources: number) {
    this.#waiting = waiting;
    this.#shapeAt = shapeAt;
    this.#resources = resources;
  }

  begin(server: VectorServer, above: number, upTo: number): void {
    this.#server = server;
    this.#above = above;
    this.#upTo = upTo;
    this.best = Number.NEGATIVE_INFINITY;
    this.found = undefined;
  }

  bound(lows: Float64Array, highs: Float64Array): number {
    const { free } = this.#server;
    const [smallest, largest] = [lows[this.#resources]!, highs[this.#resources]!];
    if (largest <= this.#above || smallest > this.#upTo) return Number.NEGATIVE_INFINITY;
    for (let index = 0; index < this.#resources; index++)
      if (lows[index]! > (free[index] ?? 0)) return Number.NEGATIVE_INFINITY;
    return largest < this.#upTo ? largest : this.#upTo;
  }

  tieBound(): number {
    return 0;
  }

  look(id: number): void {
    const shape = this.#shapeAt(id);
    const { size, demand } = shape;
    if (size <= this.#above || size > this.#upTo || size < this.best) return;
    if (!fitsIn(demand, this.#server.free) || !mayRun(this.#server, shape)) return;
    if (size === this.best && !isOlder(shape, this.found!, this.#waiting)) return;
    this.best = size;
    this.found = shape;
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

/** Of what the server has of each resource. */
function sumOf(demand: Vector, { capacity }: VectorServer): number {
  let sum = 0;
  for (let index = 0; index < demand.length; index++)
    if (demand[index] !== 0) sum += demand[index]! / capacity[index]!;
  return sum;
}

function isOlder(one: Shape, other: Shape, { sequence }: Waiting): boolean {
  return sequence[one.order.head()]! < sequence[other.order.head()]!;
}
