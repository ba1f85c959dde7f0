import type { Address } from '@goshawk/core';

/** So many tasks that failed at a worker and completed elsewhere, with none that completed there, are enough to tell of it. */
const TOLD_AT = 5;
/** Counts are kept of so many workers, the latest. */
const WORKERS_MAX = 1_000;

/**
 * Workers that fail what others complete, whatever job it is of: one that lacks a program is always free, and draws the
 * first attempts of many small jobs, each of which then does well elsewhere. `Blame` judges within one job.
 */
export class Misfits {
  readonly #disproved = new Map<Address, number>();

  /** A task completed. @param failedAt workers that it came to nothing at before @returns those to be told */
  completed(worker: Address, failedAt: readonly Address[]): readonly Address[] {
    if (this.#disproved.size > 0) this.#disproved.delete(worker);
    return failedAt.filter((other) => other !== worker && this.#disprove(other));
  }

  #disprove(worker: Address): boolean {
    const times = (this.#disproved.get(worker) ?? 0) + 1;
    this.#disproved.delete(worker);
    if (times >= TOLD_AT) return true;
    this.#disproved.set(worker, times);
    if (this.#disproved.size > WORKERS_MAX) this.#disproved.delete(this.#disproved.keys().next().value!);
    return false;
  }
}
