import type { Millis } from '../ids.js';

/**
 * Average number of jobs that queries may examine per millisecond. This takes a tenth of a CPU: a scheduler with
 * 12,000 active jobs lists them in 4 ms.
 */
const JOBS_PER_MS = 300;
/** Number of jobs that the queries of one client may examine in a burst. */
const JOBS_MAX = 100_000;
/** Cost of any query, in units of examined jobs. */
export const QUERY_COST = 30;

/**
 * Limits the rate of queries. A query takes time in proportion to the number of jobs, or of the stages and tasks of a job,
 * and one frame can contain hundreds of thousands of queries. Above the limit, clients must retry later.
 *
 * The clients that have queried recently share the rate equally, so a flood by one is not refused at the cost of the
 * others.
 */
export class QueryBudget {
  /** Number of jobs that recent queries of each client have examined. */
  readonly #used = new Map<string, number>();
  #refilledAt: Millis = Number.NEGATIVE_INFINITY;

  /** Time until a query of the client is allowed; 0: it is allowed now. @param client name of its key */
  waitMs(client: string, now: Millis): Millis {
    const refilled = Math.max(0, now - this.#refilledAt) * this.#rate;
    this.#refilledAt = now;
    for (const [name, used] of this.#used) {
      if (used <= refilled) this.#used.delete(name);
      else this.#used.set(name, used - refilled);
    }
    const over = (this.#used.get(client) ?? 0) - JOBS_MAX;
    return over < 0 ? 0 : Math.ceil((over + 1) / this.#rate);
  }

  /** Charges a query of the client that examined this many jobs. */
  charge(client: string, jobs: number): void {
    this.#used.set(client, (this.#used.get(client) ?? 0) + jobs);
  }

  /** Jobs per millisecond of each client. */
  get #rate(): number {
    return JOBS_PER_MS / Math.max(1, this.#used.size);
  }
}
