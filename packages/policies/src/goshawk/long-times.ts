import type { Millis } from '@goshawk/core';

/** The last long jobs of which it is known how long their tasks run. */
const KEPT_JOBS = 100;
/** A long job of unknown length is taken for so many standard deviations more than their mean. */
const DEVIATIONS = 6;

/**
 * How long the tasks of long jobs run, as central hears of it, for long jobs which is unknown it yet.
 *
 * A slot is not taken back. So to err is not the same either way: a job that is believed to be too large waits for
 * its pilots; one that is believed to be too small comes before those that are known, takes all slots that
 * become free, and keeps them for as long as its tasks really run. The doubt is the larger the more long jobs differ,
 * and where all are alike there is none.
 */
export class LongTimes {
  /** By job, the one that was heard of last last. ms */
  readonly #meansMs = new Map<unknown, Millis>();

  /** @param meanMs of the job's tasks */
  learn(job: unknown, meanMs: Millis): void {
    this.#meansMs.delete(job);
    this.#meansMs.set(job, meanMs);
    if (this.#meansMs.size <= KEPT_JOBS) return;
    const [oldest] = this.#meansMs.keys();
    this.#meansMs.delete(oldest!);
  }

  /**
   * Estimate for a long job that may be longer than its owner can know.
   * @param leastMs the owner's estimate
   */
  doubted(leastMs: Millis): Millis {
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
