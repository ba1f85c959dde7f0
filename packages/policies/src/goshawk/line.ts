import { fitsIn, IndexedHeap, type Needs, type Vector } from '@goshawk/core';
import type { StageView } from '../contract.js';
import { StageOrder } from '../stage-order.js';

/** Demands that are equal within a factor per resource. */
interface SizeClass {
  readonly key: string;
  /** Lower bound of the demands in the class. */
  readonly least: Vector;
}

/** Number of classes per doubling of a demand. */
const CLASSES = 2;

function sizeOf(demand: Vector): SizeClass {
  const classes = demand.map((amount) => (amount > 0 ? Math.floor(CLASSES * Math.log2(amount)) : undefined));
  // The factor allows for rounding errors.
  const least = classes.map((each) => (each === undefined ? 0 : (1 - 1e-9) * 2 ** (each / CLASSES)));
  return { key: classes.join(), least };
}

/** Needs of waiting stages; those of gangs with different numbers of tasks differ. */
export interface WaitingNeeds {
  /** Small and dense; reused once no stage with these needs waits. */
  readonly id: number;
  readonly of: Needs;
  /** Set once the needs have been blocked. */
  size: SizeClass | undefined;
  /** Number of tasks that must start together; 1: each may start alone. */
  readonly together: number;
  /** No worker has room; blocked until some worker has more than before. */
  isBlocked: boolean;
  /** Lines with a waiting stage with these needs. */
  readonly lines: Line[];
}

/**
 * Waiting stages of one user and one kind, lowest key first. It has one queue per needs, so that all stages that fit
 * nowhere can be skipped together.
 */
export class Line {
  readonly #queues: ({ readonly needs: WaitingNeeds; readonly order: StageOrder } | undefined)[] = [];
  /** Needs that are not blocked, by the key of their first stage. */
  readonly #heads = new IndexedHeap();
  /** Blocked needs by the same key, grouped by size class. */
  readonly #blocked = new Map<string, { readonly size: SizeClass; readonly heads: IndexedHeap }>();
  readonly #touched = new Set<WaitingNeeds>();

  /** Whether no stage waits that may fit. */
  get isEmpty(): boolean {
    return this.#heads.size === 0;
  }

  /** Infinity if no stage waits that may fit. */
  get firstKey(): number {
    return this.#heads.topKey();
  }

  first(): StageView | undefined {
    return this.#heads.size === 0 ? undefined : this.#queues[this.#heads.top()]!.order.first();
  }

  set(stage: StageView, needs: WaitingNeeds, key: number): void {
    let queue = this.#queues[needs.id];
    if (queue === undefined) {
      queue = { needs, order: new StageOrder() };
      this.#queues[needs.id] = queue;
      needs.lines.push(this);
    }
    queue.order.set(stage, key);
    this.refresh(needs);
  }

  delete(stage: StageView, needs: WaitingNeeds): void {
    const queue = this.#queues[needs.id];
    if (queue === undefined) return;
    queue.order.delete(stage);
    if (queue.order.total === 0) {
      this.#queues[needs.id] = undefined;
      needs.lines.splice(needs.lines.indexOf(this), 1);
    }
    this.refresh(needs);
  }

  /** The first stage of each accepted need, in order, up to a limit. */
  firstOpen(most: number, accepts: (needs: WaitingNeeds) => boolean): Contender[] {
    return this.#firstOf(this.#heads, most, accepts);
  }

  /**
   * Like `firstOpen` for blocked needs: up to a limit per size class, in no particular order.
   *
   * @param room only needs that fit into it; default: all
   */
  firstBlocked(
    most: number,
    room: Vector | undefined,
    accepts: (needs: WaitingNeeds) => boolean,
  ): Contender[] {
    const found: Contender[] = [];
    for (const { size, heads } of this.#blocked.values())
      if (room === undefined || fitsIn(size.least, room)) found.push(...this.#firstOf(heads, most, accepts));
    return found;
  }

  #firstOf(heads: IndexedHeap, most: number, accepts: (needs: WaitingNeeds) => boolean): Contender[] {
    const found: Contender[] = [];
    for (const id of heads.inOrder()) {
      if (found.length === most) break;
      const { needs, order } = this.#queues[id]!;
      if (accepts(needs)) found.push({ stage: order.first()!, needs, key: order.firstKey });
    }
    return found;
  }

  keyOf(stage: StageView, needs: WaitingNeeds): number {
    return this.#queues[needs.id]?.order.keyOf(stage) ?? Number.POSITIVE_INFINITY;
  }

  /** Removes the first stage from the line until all skipped stages are restored. */
  passOverFirst(): void {
    const { needs, order } = this.#queues[this.#heads.top()]!;
    order.passOverFirst();
    this.#touched.add(needs);
    this.refresh(needs);
  }

  takeBack(): void {
    for (const needs of this.#touched) {
      this.#queues[needs.id]?.order.takeBack();
      this.refresh(needs);
    }
    this.#touched.clear();
  }

  /** The first stage of these needs has changed, or whether they are blocked. */
  refresh(needs: WaitingNeeds): void {
    const order = this.#queues[needs.id]?.order;
    const isEmpty = order === undefined || order.size === 0;
    if (isEmpty || needs.isBlocked) this.#heads.delete(needs.id);
    else this.#heads.set(needs.id, order.firstKey);
    if (isEmpty || !needs.isBlocked) this.#unblocked(needs);
    else this.#blockedOf(needs).set(needs.id, order.firstKey);
  }

  #blockedOf(needs: WaitingNeeds): IndexedHeap {
    needs.size ??= sizeOf(needs.of.demand);
    const { size } = needs;
    let known = this.#blocked.get(size.key);
    if (known === undefined) {
      known = { size, heads: new IndexedHeap() };
      this.#blocked.set(size.key, known);
    }
    return known.heads;
  }

  #unblocked({ id, size }: WaitingNeeds): void {
    if (size === undefined) return;
    const heads = this.#blocked.get(size.key)?.heads;
    if (heads?.delete(id) && heads.size === 0) this.#blocked.delete(size.key);
  }
}

/** The first stage of its needs in a line. */
export interface Contender {
  readonly stage: StageView;
  readonly needs: WaitingNeeds;
  readonly key: number;
}
