import type { Millis } from '@goshawk/core';

/** Average number of jobs that queries may examine per millisecond. This takes about a tenth of a CPU. */
const JOBS_PER_MS = 1_000;
/** Number of jobs that queries may examine in a burst. */
const JOBS_MAX = 1_000_000;

/**
 * Limits the rate of queries over all jobs (token bucket). A query takes time in proportion to the number of jobs, and
 * one frame can contain hundreds of thousands of queries. Above the limit, clients must retry later.
 */
export class QueryBudget {
  #left = JOBS_MAX;
  #refilledAt: Millis = Number.NEGATIVE_INFINITY;

  /** Time until a query is allowed; 0: it is allowed now. */
  waitMs(now: Millis): Millis {
    this.#left = Math.min(JOBS_MAX, this.#left + Math.max(0, now - this.#refilledAt) * JOBS_PER_MS);
    this.#refilledAt = now;
    return this.#left > 0 ? 0 : Math.ceil((1 - this.#left) / JOBS_PER_MS);
  }

  /** Charges a query that examined this many jobs. */
  charge(jobs: number): void {
    this.#left -= jobs;
  }
}
