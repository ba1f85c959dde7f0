import type { Millis } from '@goshawk/core';
import type { Delivery } from '../dispatch/delivery.js';
import type { Routing } from '../dispatch/routing.js';
import type { Job } from '../job/job.js';
import type { SchedulerState } from '../state.js';
import type { Cancelling } from './cancelling.js';
import type { Endings } from './endings.js';
import type { Restarting } from './restarting.js';

/** Sends again what was not answered, since any message may be lost. */
export class Retries {
  readonly #s: SchedulerState;
  readonly #restarting: Restarting;
  readonly #delivery: Delivery;
  readonly #routing: Routing;
  readonly #endings: Endings;
  readonly #cancelling: Cancelling;
  /** Jobs that the current round has not visited yet. */
  #round: Iterator<Job, undefined> | undefined;
  /** Whether a job that the current round has visited has unanswered messages. */
  #isOpen = false;

  constructor(
    s: SchedulerState,
    restarting: Restarting,
    delivery: Delivery,
    routing: Routing,
    endings: Endings,
    cancelling: Cancelling,
  ) {
    this.#s = s;
    this.#restarting = restarting;
    this.#delivery = delivery;
    this.#routing = routing;
    this.#endings = endings;
    this.#cancelling = cancelling;
  }

  sweep(now: Millis): void {
    const lateMs = this.#s.sweepTimer.fired(now);
    const { retryMs, leaseMs } = this.#s.cluster.timings;
    let open = this.#s.recovery.askAgain(leaseMs, lateMs, now);
    this.#restarting.startIfRecovered(now);
    if (this.#s.audit.start(AUDIT_RETRIES * retryMs, now)) open = true;
    if (this.#delivery.resendDoubtful(now)) open = true;
    if (this.#askForJobs(retryMs, now)) open = true;
    if (open) this.#s.sweepTimer.arm(now);
  }

  /** Visits the next jobs of the round, at most all. @returns whether any job of the round has unanswered messages */
  #askForJobs(retryMs: Millis, now: Millis): boolean {
    this.#round ??= this.#s.jobs.active()[Symbol.iterator]();
    for (let left = VISITED_MAX; left > 0; left--) {
      const { done, value: job } = this.#round.next();
      if (done) {
        const isOpen = this.#isOpen;
        this.#round = undefined;
        this.#isOpen = false;
        return isOpen;
      }
      if (this.#routing.askAgain(job, retryMs, now)) this.#isOpen = true;
      if (this.#endings.repeatBreaking(job)) this.#isOpen = true;
      if (!job.cancelling && !job.hasCancelledTasks) continue;
      this.#isOpen = true;
      this.#cancelling.repeat(job);
    }
    return true;
  }
}

/** A sweep visits at most this many jobs, and the next one continues: the cost of waiting jobs per second is bounded. */
const VISITED_MAX = 5_000;

/** Running tasks are audited once in this many retries. */
const AUDIT_RETRIES = 10;
