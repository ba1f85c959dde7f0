import type { Millis } from '@goshawk/core';
import type { Delivery } from '../dispatch/delivery.js';
import type { Routing } from '../dispatch/routing.js';
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
    for (const job of this.#s.jobs.active()) {
      if (this.#routing.askAgain(job, retryMs, now)) open = true;
      if (this.#endings.repeatBreaking(job)) open = true;
      if (!job.cancelling && !job.hasCancelledTasks) continue;
      open = true;
      this.#cancelling.repeat(job);
    }
    if (open) this.#s.sweepTimer.arm(now);
  }
}

/** Running tasks are audited once in this many retries. */
const AUDIT_RETRIES = 10;
