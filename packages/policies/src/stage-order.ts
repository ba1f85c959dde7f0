import { IndexedHeap } from '@goshawk/core';
import type { StageView } from './contract.js';

/** Waiting stages in the order of a key, the least first; of equals, the one that came first. */
export class StageOrder {
  /** When each came, by id of the stage. */
  readonly #arrivals: number[] = [];
  readonly #heap = new IndexedHeap(this.#arrivals);
  readonly #stages: (StageView | undefined)[] = [];
  /** Passed over, with their keys. */
  readonly #passedOver: { readonly id: number; readonly key: number }[] = [];
  #came = 0;
  #total = 0;

  /** Those that are passed over are left out. */
  get size(): number {
    return this.#heap.size;
  }

  /** Those that are passed over count too. */
  get total(): number {
    return this.#total;
  }

  set(stage: StageView, key: number): void {
    const { id } = stage;
    if (this.#stages[id] === undefined) {
      this.#stages[id] = stage;
      this.#arrivals[id] = this.#came++;
      this.#total++;
    }
    this.#heap.set(id, key);
  }

  delete(stage: StageView): void {
    if (this.#stages[stage.id] === undefined) return;
    this.#heap.delete(stage.id);
    this.#stages[stage.id] = undefined;
    this.#total--;
  }

  /** Infinity where the stage does not wait. */
  keyOf(stage: StageView): number {
    return this.#heap.keyOf(stage.id) ?? Number.POSITIVE_INFINITY;
  }

  first(): StageView | undefined {
    return this.#heap.size === 0 ? undefined : this.#stages[this.#heap.top()];
  }

  /** Infinity where nothing waits. */
  get firstKey(): number {
    return this.#heap.topKey();
  }

  /** The first leaves the order until all that were passed over are taken back. */
  passOverFirst(): void {
    const id = this.#heap.top();
    this.#passedOver.push({ id, key: this.#heap.topKey() });
    this.#heap.delete(id);
  }

  takeBack(): void {
    for (const { id, key } of this.#passedOver)
      if (this.#stages[id] !== undefined && !this.#heap.has(id)) this.#heap.set(id, key);
    this.#passedOver.length = 0;
  }
}
