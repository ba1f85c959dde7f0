import {
  type Attributes,
  DenseIds,
  fitsIn,
  type Needs,
  type PointSearch,
  Points,
  type Vector,
} from '@goshawk/core';
import { ArrivalOrder } from './arrival-order.js';
import type { Fit } from './fit.js';
import type { Group } from './group.js';

/** A server with several resources, as in the books. */
export interface VectorServer {
  readonly capacity: Vector;
  readonly free: Vector;
  readonly attributes?: Attributes;
}

/** Groups with equal demand and requirements, in order of arrival. */
interface Shape {
  readonly id: number;
  readonly needs: Needs;
  readonly size: number;
  readonly order: ArrivalOrder;
}

/**
 * Index for several resources (§VIII), in each of which a task must fit. The score of a task at a server is Σ
 * demand · occupied, both as shares of the server (Tetris). Servers are indexed by their room, and tasks by
 * their demand.
 */
export class VectorFit implements Fit {
  readonly #serverAt: (server: number) => VectorServer;
  readonly #resources: number;
  /** Free amounts and capacities of open servers. */
  readonly #servers: Points;
  readonly #serverFor: ServerSearch;
  /** Demand and size of each shape. */
  readonly #shapes: Points;
  readonly #groupFor: ShapeSearch;
  readonly #largestOf: SizeSearch;
  readonly #shapeByNeeds = new Map<Needs, Shape>();
  /** Shape by id. */
  readonly #shapeAt: (Shape | undefined)[] = [];
  readonly #ids = new DenseIds();
  readonly #shapeOf = new Map<Group, Shape>();

  /** @param largest maximum of each resource over all servers */
  constructor(rule: 'first' | 'best', serverAt: (server: number) => VectorServer, largest: Vector) {
    this.#serverAt = serverAt;
    this.#resources = largest.length;
    this.#servers = new Points(2 * largest.length, rule === 'first' ? [] : largest);
    this.#serverFor = new ServerSearch(rule, largest.length, serverAt);
    this.#shapes = new Points(largest.length + 1, largest);
    const shapeAt = (id: number): Shape => this.#shapeAt[id]!;
    this.#groupFor = new ShapeSearch(shapeAt);
    this.#largestOf = new SizeSearch(shapeAt);
  }

  open(server: number): void {
    const { capacity, free } = this.#serverAt(server);
    const resources = this.#resources;
    const point = Array.from({ length: 2 * resources }, (_, column) =>
      column < resources ? (free[column] ?? 0) : (capacity[column - resources] ?? 0),
    );
    this.#servers.set(server, point);
  }

  close(server: number): void {
    this.#servers.delete(server);
  }

  add(group: Group): void {
    const { needs, size } = group;
    let shape = this.#shapeByNeeds.get(needs);
    if (shape === undefined) {
      const id = this.#ids.take();
      shape = { id, needs, size, order: new ArrivalOrder() };
      this.#shapeByNeeds.set(needs, shape);
      this.#shapeAt[id] = shape;
      const point = Array.from({ length: this.#resources }, (_, column) => needs.demand[column] ?? 0);
      this.#shapes.set(id, [...point, size]);
    }
    shape.order.add(group);
    this.#shapeOf.set(group, shape);
  }

  remove(group: Group): void {
    const { id, needs, order } = this.#shapeOf.get(group)!;
    this.#shapeOf.delete(group);
    order.remove(group);
    if (order.head() !== undefined) return;
    this.#shapeByNeeds.delete(needs);
    this.#shapeAt[id] = undefined;
    this.#ids.release(id);
    this.#shapes.delete(id);
  }

  // The books contain the room of each server.
  used(server: number): void {
    if (this.#servers.has(server)) this.open(server);
  }

  serverFor({ needs }: Group): number {
    this.#serverFor.begin(needs);
    this.#servers.search(this.#serverFor);
    return this.#serverFor.found;
  }

  groupFor(server: number): Group | undefined {
    return this.#search(server, this.#groupFor);
  }

  largestOf(server: number, above: number, upTo: number): Group | undefined {
    this.#largestOf.within(above, upTo);
    return this.#search(server, this.#largestOf);
  }

  #search(server: number, search: TaskSearch): Group | undefined {
    if (!this.#servers.has(server)) return undefined;
    search.begin(this.#serverAt(server));
    this.#shapes.search(search);
    return search.found?.order.head();
  }
}

/** Finds the server of a task: the first that fits, or the one with the highest score, ties to the first. */
class ServerSearch implements PointSearch {
  readonly #rule: 'first' | 'best';
  readonly #resources: number;
  readonly #serverAt: (server: number) => VectorServer;
  #needs!: Needs;
  best = Number.NEGATIVE_INFINITY;
  bestTie = 0;
  found = -1;

  constructor(rule: 'first' | 'best', resources: number, serverAt: (server: number) => VectorServer) {
    this.#rule = rule;
    this.#resources = resources;
    this.#serverAt = serverAt;
  }

  begin(needs: Needs): void {
    this.#needs = needs;
    this.best = Number.NEGATIVE_INFINITY;
    this.found = -1;
  }

  // Sums in the same order as the score, so that rounding is equal.
  bound(lows: Float64Array, highs: Float64Array): number {
    const resources = this.#resources;
    const { demand } = this.#needs;
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

  visit(server: number): void {
    const at = this.#serverAt(server);
    const { demand } = this.#needs;
    if (!fitsIn(demand, at.free) || !this.#needs.permits(at)) return;
    const score = this.#rule === 'first' ? 0 : placeScore(demand, at);
    if (score < this.best || (score === this.best && -server < this.bestTie)) return;
    this.best = score;
    this.bestTie = -server;
    this.found = server;
  }
}

/** Finds the best task for a server with room; ties go to the oldest. */
abstract class TaskSearch implements PointSearch {
  protected readonly shapeAt: (id: number) => Shape;
  protected server: VectorServer = { capacity: [], free: [] };
  best = Number.NEGATIVE_INFINITY;
  bestTie = 0;
  found: Shape | undefined;

  constructor(shapeAt: (id: number) => Shape) {
    this.shapeAt = shapeAt;
  }

  begin(server: VectorServer): void {
    this.server = server;
    this.best = Number.NEGATIVE_INFINITY;
    this.found = undefined;
  }

  abstract bound(lows: Float64Array, highs: Float64Array): number;
  abstract tieBound(lows: Float64Array, highs: Float64Array): number;
  abstract visit(id: number): void;

  protected fits({ needs }: Shape): boolean {
    return fitsIn(needs.demand, this.server.free) && needs.permits(this.server);
  }

  protected take(shape: Shape, score: number, tie: number): void {
    if (score < this.best || (score === this.best && tie < this.bestTie)) return;
    if (score === this.best && tie === this.bestTie && !isOlder(shape, this.found!)) return;
    this.best = score;
    this.bestTie = tie;
    this.found = shape;
  }
}

/** Highest score; ties go to the largest sum of demands. */
class ShapeSearch extends TaskSearch {
  bound(lows: Float64Array, highs: Float64Array): number {
    const { capacity, free } = this.server;
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
    const { capacity, free } = this.server;
    let sum = 0;
    for (let index = 0; index < highs.length - 1; index++) {
      const most = Math.min(highs[index]!, free[index] ?? 0);
      if (most > 0) sum += most / capacity[index]!;
    }
    return sum;
  }

  visit(id: number): void {
    const shape = this.shapeAt(id);
    if (!this.fits(shape)) return;
    const { demand } = shape.needs;
    this.take(shape, tetrisScore(demand, this.server), sumOf(demand, this.server));
  }
}

/** The largest size within bounds. */
class SizeSearch extends TaskSearch {
  #above = 0;
  #upTo = 0;

  within(above: number, upTo: number): void {
    this.#above = above;
    this.#upTo = upTo;
  }

  bound(lows: Float64Array, highs: Float64Array): number {
    const { free } = this.server;
    const resources = highs.length - 1;
    const largest = highs[resources]!;
    if (largest <= this.#above || lows[resources]! > this.#upTo) return Number.NEGATIVE_INFINITY;
    for (let index = 0; index < resources; index++)
      if (lows[index]! > (free[index] ?? 0)) return Number.NEGATIVE_INFINITY;
    return largest < this.#upTo ? largest : this.#upTo;
  }

  // All ties are 0, because ages are not indexed. `take` compares ages.
  tieBound(): number {
    return 0;
  }

  visit(id: number): void {
    const shape = this.shapeAt(id);
    if (shape.size > this.#above && shape.size <= this.#upTo && this.fits(shape))
      this.take(shape, shape.size, 0);
  }
}

/** Σ demand · occupied over resources, both as shares of the server before the placement. */
export function tetrisScore(demand: Vector, { capacity, free }: VectorServer): number {
  let score = 0;
  for (let index = 0; index < demand.length; index++) {
    const all = capacity[index]!;
    if (demand[index] !== 0 && all > 0 && Number.isFinite(all))
      score += (demand[index]! / all) * (1 - free[index]! / all);
  }
  return score;
}

/**
 * Score for the choice of a server. With one resource, the server with the least room fits best, even if
 * sizes differ.
 */
function placeScore(demand: Vector, server: VectorServer): number {
  return server.capacity.length === 1 ? -server.free[0]! : tetrisScore(demand, server);
}

/** Sum of demands as shares of the server's capacity. */
function sumOf(demand: Vector, { capacity }: VectorServer): number {
  let sum = 0;
  for (let index = 0; index < demand.length; index++)
    if (demand[index] !== 0) sum += demand[index]! / capacity[index]!;
  return sum;
}

function isOlder(one: Shape, other: Shape): boolean {
  return one.order.head()!.sequence < other.order.head()!.sequence;
}
