import type { Needs } from '@goshawk/core';
import type { StageView } from '../contract.js';
import { StageOrder } from '../stage-order.js';

/** Waiting stages with equal needs, class and part. Gangs wait together only with gangs of their size. */
export class WaitingKind {
  readonly needs: Needs;
  readonly key: number;
  /** Number of waiting tasks. */
  tasks = 0;
  /** Stages by the arrival of their jobs. */
  readonly #order = new StageOrder();

  constructor(needs: Needs, key: number) {
    this.needs = needs;
    this.key = key;
  }

  get isEmpty(): boolean {
    return this.#order.total === 0;
  }

  set(stage: StageView): void {
    this.#order.set(stage, stage.job.arrivedAt);
  }

  delete(stage: StageView): void {
    this.#order.delete(stage);
  }

  /** The stage of the oldest job, and that of the next job if there is one. */
  get oldest(): readonly [StageView, StageView | undefined] {
    const first = this.#order.first()!;
    this.#order.skipFirst();
    const second = this.#order.first();
    this.#order.restoreSkipped();
    return [first, second];
  }
}
