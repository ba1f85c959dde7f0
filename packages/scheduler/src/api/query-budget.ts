import type { Millis } from '@goshawk/core';

/** Average number of jobs that queries may examine per millisecond: a tenth of what a CPU can do. */
const JOBS_PER_MS = 1_000;
/** Maximum number of jobs that queries may examine at once. */
const JOBS_MAX = 1_000_000;

/**
 * Limits the rate of queries over all jobs. A query takes time in proportion to the number of jobs, and one frame can
 * contain hundreds of thousands of queries. Above the limit clients must retry later.
 */
export class QueryBudget {
  #left = JOBS_MAX;
  #at: Millis = Number.NEGATIVE_INFINITY;

  /** Time until a query is allowed; 0: now. */
  waitMs(now: Millis): Millis {
    this.#left = Math.min(JOBS_MAX, this.#left + Math.max(0, now - this.#at) * JOBS_PER_MS);
    this.#at = now;
    return this.#left > 0 ? 0 : Math.ceil((1 - this.#left) / JOBS_PER_MS);
  }

  /** Charges a query that examined this many jobs. */
  took(jobs: number): void {
    this.#left -= jobs;
  }
}
