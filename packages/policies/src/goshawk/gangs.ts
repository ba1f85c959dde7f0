import type { Millis } from '@goshawk/core';
import type { StageView, WorkerView } from '../contract.js';
import { choose, countIn, fitsNow, gangSize, isPreferredAt } from '../fitting.js';
import type { FreeWorkers } from '../free-workers.js';
import type { Reservations } from '../reservations.js';

/** Placement of gangs, whose tasks start together or not at all. */
export class Gangs {
  readonly #free: FreeWorkers;
  readonly #reservations: Reservations;

  constructor(free: FreeWorkers, reservations: Reservations) {
    this.#free = free;
    this.#reservations = reservations;
  }

  /** Whether all tasks have room, ignoring reservations. */
  holds(stage: StageView): boolean {
    const together = gangSize(stage);
    const chosen: WorkerView[] = [];
    for (const worker of this.#free.for(stage)) {
      if (fitsNow(stage, worker)) choose(worker, worker.roomFor(stage.demand), stage, together, chosen);
      if (chosen.length === together) return true;
    }
    return false;
  }

  /**
   * Workers for all tasks: those that its job prefers first, then those with room for most tasks.
   *
   * @param onlyPreferred exclude others
   */
  workersFor(stage: StageView, onlyPreferred: boolean, now: Millis): WorkerView[] | undefined {
    const together = gangSize(stage);
    const counts: { readonly worker: WorkerView; readonly count: number; readonly isPreferred: boolean }[] =
      [];
    for (const worker of this.#free.for(stage)) {
      const isPreferred = isPreferredAt(stage.job, worker);
      if ((onlyPreferred && !isPreferred) || !fitsNow(stage, worker)) continue;
      if (!this.#reservations.admits(stage, worker, now)) continue;
      const free = this.#reservations.roomFor(stage, worker, now);
      const count = Math.min(worker.roomFor(stage.demand), countIn(stage, free, together));
      if (count > 0) counts.push({ worker, count, isPreferred });
    }
    counts.sort(
      (one, other) =>
        Number(other.isPreferred) - Number(one.isPreferred) ||
        other.count - one.count ||
        one.worker.id - other.worker.id,
    );
    const workers: WorkerView[] = [];
    for (const { worker, count } of counts) {
      choose(worker, count, stage, together, workers);
      if (workers.length === together) return workers;
    }
    return undefined;
  }
}
