import { IndexedHeap } from '@goshawk/core';
import type { BatchView } from '../contract.js';

/** Waiting batches in the order in which their jobs arrived. */
export class BatchOrder {
  readonly #heap = new IndexedHeap();
  /** By id. */
  readonly #batches: (BatchView | undefined)[] = [];

  get size(): number {
    return this.#heap.size;
  }

  add(batch: BatchView): void {
    this.#batches[batch.id] = batch;
    this.#heap.set(batch.id, batch.job.arrivedAt);
  }

  delete(id: number): void {
    if (this.#heap.delete(id)) this.#batches[id] = undefined;
  }

  top(): BatchView | undefined {
    return this.#heap.size === 0 ? undefined : this.#batches[this.#heap.top()];
  }

  /** The first that suits, or undefined. */
  first(suits: (batch: BatchView) => boolean): BatchView | undefined {
    const top = this.top();
    if (top === undefined || suits(top)) return top;
    let first: BatchView | undefined;
    for (const id of this.#heap.ids()) {
      const batch = this.#batches[id]!;
      if (!suits(batch)) continue;
      const ahead = first === undefined ? -1 : batch.job.arrivedAt - first.job.arrivedAt || id - first.id;
      if (ahead < 0) first = batch;
    }
    return first;
  }
}
