import { type Address, addTo, fits, NO_RESOURCES, type Resources } from '@goshawk/core';
import type { BatchView, ClusterView, Plan, Start, WorkerView } from './contract.js';

/** A worker as the draft leaves it. */
export class Offer {
  readonly address: Address;
  readonly capacity: Resources;
  free: number;
  spare: Resources;

  constructor({ address, capacity, free, spare }: WorkerView) {
    this.address = address;
    this.capacity = capacity;
    this.free = free;
    this.spare = spare;
  }

  suits(demand: Resources): boolean {
    return this.free > 0 && fits(demand, this.spare);
  }

  take(demand: Resources): void {
    this.free--;
    if (demand === NO_RESOURCES) return;
    const left = { ...this.spare };
    addTo(left, demand, -1);
    this.spare = left;
  }
}

/** A plan in the making: the view as it will be once the starts so far are made. */
export class PlanDraft {
  readonly #view: ClusterView;
  readonly #starts: Start[] = [];
  readonly #taken = new Map<BatchView, number>();
  readonly #tagged: number[] = [];

  constructor(view: ClusterView) {
    this.#view = view;
  }

  /** Workers with something free, one after another. */
  *offers(): Iterable<Offer> {
    for (const worker of this.#view.freeWorkers()) yield new Offer(worker);
  }

  /** Tasks of the batch that are left. */
  waiting(batch: BatchView): number {
    return batch.waiting - (this.#taken.get(batch) ?? 0);
  }

  /** Runs with this tag, the planned ones included. */
  runsTagged(tag: number): number {
    return this.#view.runsTagged(tag) + (this.#tagged[tag] ?? 0);
  }

  start(batch: BatchView, offer: Offer, tag: number): void {
    offer.take(batch.demand);
    this.#taken.set(batch, (this.#taken.get(batch) ?? 0) + 1);
    this.#tagged[tag] = (this.#tagged[tag] ?? 0) + 1;
    this.#starts.push({ batch, worker: offer.address, tag });
  }

  get plan(): Plan {
    return { starts: this.#starts };
  }
}
