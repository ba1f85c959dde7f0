import { IndexedHeap } from '@goshawk/core';
import type { StageView } from '../contract.js';

/** Waiting stages in the order in which their jobs arrived. */
export class StageOrder {
  readonly #heap = new IndexedHeap();
  /** By id. */
  readonly #stages: (StageView | undefined)[] = [];

  get size(): number {
    return this.#heap.size;
  }

  add(stage: StageView): void {
    this.#stages[stage.id] = stage;
    this.#heap.set(stage.id, stage.job.arrivedAt);
  }

  delete(id: number): void {
    if (this.#heap.delete(id)) this.#stages[id] = undefined;
  }

  top(): StageView | undefined {
    return this.#heap.size === 0 ? undefined : this.#stages[this.#heap.top()];
  }

  /** The first that suits, or undefined. */
  first(suits: (stage: StageView) => boolean): StageView | undefined {
    const top = this.top();
    if (top === undefined || suits(top)) return top;
    let first: StageView | undefined;
    for (const id of this.#heap.ids()) {
      const stage = this.#stages[id]!;
      if (!suits(stage)) continue;
      const ahead = first === undefined ? -1 : stage.job.arrivedAt - first.job.arrivedAt || id - first.id;
      if (ahead < 0) first = stage;
    }
    return first;
  }
}
