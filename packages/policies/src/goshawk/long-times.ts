import type { Millis } from '@goshawk/core';

/** Number of recent long jobs whose run times are kept. */
const KEPT_JOBS = 100;
/** A long job of unknown length is estimated at the mean plus this many standard deviations. */
const DEVIATIONS = 6;

/**
 * Estimates long jobs of unknown length from the task run times of recent long jobs.
 *
 * Slots are not preempted, so the two kinds of error differ. A job that is overestimated waits for its pilots. A job
 * that is underestimated goes ahead of known jobs, takes every slot that becomes free, and keeps it for as long as
 * its tasks really run. The margin therefore grows with the spread of long jobs, and is 0 if all are alike.
 */
export class LongTimes {
  /** Mean run times (ms) by job, most recently reported last. */
  readonly #meansMs = new Map<unknown, Millis>();

  /** @param meanMs mean run time of the job's tasks */
  learn(job: unknown, meanMs: Millis): void {
    this.#meansMs.delete(job);
    this.#meansMs.set(job, meanMs);
    if (this.#meansMs.size <= KEPT_JOBS) return;
    const [oldest] = this.#meansMs.keys();
    this.#meansMs.delete(oldest!);
  }

  /**
   * Estimate for a long job that may be longer than its owner can know.
   *
   * @param leastMs the owner's estimate
   */
  pessimisticEstimate(leastMs: Millis): Millis {
    const { size } = this.#meansMs;
    if (size === 0) return leastMs;
    let sum = 0;
    for (const ms of this.#meansMs.values()) sum += ms;
    const mean = sum / size;
    let squares = 0;
    for (const ms of this.#meansMs.values()) squares += (ms - mean) ** 2;
    return Math.max(leastMs, mean + DEVIATIONS * Math.sqrt(squares / size));
  }
}
