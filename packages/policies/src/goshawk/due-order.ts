import { IndexedHeap, type Millis } from '@goshawk/core';
import type { StageView } from '../contract.js';

/** Waiting stages in the order of a key, the least first; of equal keys the one that came first. */
export class DueOrder {
  /** When each came, by id of the stage. */
  readonly #arrivals: number[] = [];
  readonly #heap = new IndexedHeap(this.#arrivals);
  readonly #stages: (StageView | undefined)[] = [];
  #came = 0;
  #tasks = 0;
  readonly #tasksOf: number[] = [];

  get size(): number {
    return this.#heap.size;
  }

  /** Tasks that wait, all stages together. */
  get tasks(): number {
    return this.#tasks;
  }

  has(stage: StageView): boolean {
    return this.#heap.has(stage.id);
  }

  set(stage: StageView, dueAt: Millis): void {
    const { id, waiting } = stage;
    if (!this.#heap.has(id)) {
      this.#stages[id] = stage;
      this.#arrivals[id] = this.#came++;
      this.#tasksOf[id] = 0;
    }
    this.#tasks += waiting - this.#tasksOf[id]!;
    this.#tasksOf[id] = waiting;
    this.#heap.set(id, dueAt);
  }

  delete(stage: StageView): void {
    if (!this.#heap.delete(stage.id)) return;
    this.#tasks -= this.#tasksOf[stage.id]!;
    this.#stages[stage.id] = undefined;
  }

  /** Infinity where the stage does not wait. */
  dueAt(stage: StageView): Millis {
    return this.#heap.keyOf(stage.id) ?? Number.POSITIVE_INFINITY;
  }

  comesBefore(one: StageView, other: StageView): boolean {
    return this.#heap.has(one.id) && this.#heap.has(other.id) && this.#heap.isBefore(one.id, other.id);
  }

  /** The first that is not passed over; undefined where there is none. */
  first(passedOver: ReadonlySet<StageView>): StageView | undefined {
    if (this.#heap.size === 0) return undefined;
    const top = this.#stages[this.#heap.top()]!;
    if (!passedOver.has(top)) return top;
    let first: StageView | undefined;
    for (const id of this.#heap.ids()) {
      const stage = this.#stages[id]!;
      if (passedOver.has(stage)) continue;
      if (first === undefined || this.#heap.isBefore(id, first.id)) first = stage;
    }
    return first;
  }
}
