import { DenseIds, IndexedHeap } from '@goshawk/core';
import type { StageView } from './contract.js';

/** Waiting stages in ascending order of a key; ties in order of arrival. */
export class StageOrder {
  /** Dense local ids, so that many small orders use little memory; stage ids are global. */
  readonly #slotOf = new Map<StageView, number>();
  readonly #slots = new DenseIds();
  readonly #stages: (StageView | undefined)[] = [];
  /** Order of arrival, by slot. */
  readonly #arrivals: number[] = [];
  readonly #heap = new IndexedHeap(this.#arrivals);
  /** Skipped stages, with their keys. */
  readonly #skipped: { readonly stage: StageView; readonly key: number }[] = [];
  #arrived = 0;

  /** Number of stages, without skipped ones. */
  get size(): number {
    return this.#heap.size;
  }

  /** Number of stages, including skipped ones. */
  get total(): number {
    return this.#slotOf.size;
  }

  set(stage: StageView, key: number): void {
    let slot = this.#slotOf.get(stage);
    if (slot === undefined) {
      slot = this.#slots.take();
      this.#slotOf.set(stage, slot);
      this.#stages[slot] = stage;
      this.#arrivals[slot] = this.#arrived++;
    }
    this.#heap.set(slot, key);
  }

  delete(stage: StageView): void {
    const slot = this.#slotOf.get(stage);
    if (slot === undefined) return;
    this.#heap.delete(slot);
    this.#slotOf.delete(stage);
    this.#stages[slot] = undefined;
    this.#slots.release(slot);
  }

  /** Infinity if the stage does not wait. */
  keyOf(stage: StageView): number {
    const slot = this.#slotOf.get(stage);
    return (slot === undefined ? undefined : this.#heap.keyOf(slot)) ?? Number.POSITIVE_INFINITY;
  }

  first(): StageView | undefined {
    return this.#heap.size === 0 ? undefined : this.#stages[this.#heap.top()];
  }

  /** All stages in order, without skipped ones. The order must not change meanwhile. */
  *inOrder(): Iterable<StageView> {
    for (const slot of this.#heap.inOrder()) yield this.#stages[slot]!;
  }

  /** Infinity if no stage waits. */
  get firstKey(): number {
    return this.#heap.topKey();
  }

  /** Skips the first stage until all skipped stages are restored. */
  skipFirst(): void {
    const slot = this.#heap.top();
    this.#skipped.push({ stage: this.#stages[slot]!, key: this.#heap.topKey() });
    this.#heap.delete(slot);
  }

  restoreSkipped(): void {
    for (const { stage, key } of this.#skipped) {
      const slot = this.#slotOf.get(stage);
      if (slot !== undefined && !this.#heap.has(slot)) this.#heap.set(slot, key);
    }
    this.#skipped.length = 0;
  }
}
