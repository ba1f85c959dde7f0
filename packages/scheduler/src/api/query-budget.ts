import type { Millis } from '@goshawk/core';

/** Jobs that may be looked at in a millisecond of time, on average: a tenth of what a processor does. */
const JOBS_PER_MS = 1_000;
/** And at once. */
const JOBS_MAX = 1_000_000;

/**
 * How much clients may have looked through: a question about all jobs costs as much as there are jobs, and one frame holds
 * hundreds of thousands of questions. Past what there is time for, they are told to come back.
 */
export class QueryBudget {
  #left = JOBS_MAX;
  #at: Millis = Number.NEGATIVE_INFINITY;

  /** After how long there is time for a look; 0: now. */
  waitMs(now: Millis): Millis {
    this.#left = Math.min(JOBS_MAX, this.#left + Math.max(0, now - this.#at) * JOBS_PER_MS);
    this.#at = now;
    return this.#left > 0 ? 0 : Math.ceil((1 - this.#left) / JOBS_PER_MS);
  }

  /** So many jobs were looked at. */
  took(jobs: number): void {
    this.#left -= jobs;
  }
}
