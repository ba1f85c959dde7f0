import type { Millis } from '@goshawk/core';
import type { Routing } from '../dispatch/routing.js';
import type { Job } from '../job/job.js';
import type { SchedulerState } from '../state.js';
import type { Killing } from './killing.js';
import type { Reconciler } from './reconciler.js';

/** Maximum number of jobs per sweep, to bound its duration. The next sweep continues. */
const JOBS_PER_SWEEP_MAX = 5_000;

/** Repeats unanswered messages, because any message may be lost. */
export class Retries {
  readonly #s: SchedulerState;
  readonly #routing: Routing;
  readonly #killing: Killing;
  readonly #reconciler: Reconciler;
  /** Jobs that the current round has not visited yet. */
  #round: Iterator<Job, undefined> | undefined;
  /** Whether a job that the current round has visited has unanswered messages. */
  #hasUnanswered = false;

  constructor(s: SchedulerState, routing: Routing, killing: Killing, reconciler: Reconciler) {
    this.#s = s;
    this.#routing = routing;
    this.#killing = killing;
    this.#reconciler = reconciler;
  }

  sweep(now: Millis): void {
    const lateMs = this.#s.sweepTimer.fired(now);
    let open = this.#reconciler.sweep(lateMs, now);
    if (this.#killing.repeatAbandoned()) open = true;
    if (this.#repeatForJobs(now)) open = true;
    if (open) this.#s.sweepTimer.arm(now);
  }

  /** Visits the next jobs of the round, at most all. @returns whether any job of the round has unanswered messages */
  #repeatForJobs(now: Millis): boolean {
    const { retryMs } = this.#s.cluster.timings;
    this.#round ??= this.#s.jobs.active()[Symbol.iterator]();
    for (let left = JOBS_PER_SWEEP_MAX; left > 0; left--) {
      const { done, value: job } = this.#round.next();
      if (done) {
        const isOpen = this.#hasUnanswered;
        this.#round = undefined;
        this.#hasUnanswered = false;
        return isOpen;
      }
      if (this.#routing.retryUnanswered(job, retryMs, now)) this.#hasUnanswered = true;
      this.#killing.repeatFor(job);
    }
    return true;
  }
}
