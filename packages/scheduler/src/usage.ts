import {
  type Address,
  DecayingSum,
  type MessageOf,
  type Millis,
  NOBODY,
  type PolicySettings,
  reserveWindowMs,
} from '@goshawk/core';
import type { SchedulerEnvironment } from './contract.js';

/** Between two reports. ms */
const USAGE_MS = 10_000;

/**
 * What central has to know of the work that passes here: how much short and long work was done, for the partition
 * that follows their shares, and how much short work came, for the reserve.
 */
export class Usage {
  readonly #env: SchedulerEnvironment;
  /** The last that has welcomed this scheduler: it has heard of all but `cameMs`. */
  #central: Address = NOBODY;
  #policy: PolicySettings | undefined;
  #shortMs = 0;
  #longMs = 0;
  /** Not told yet. */
  #cameMs = 0;
  /** All that came lately: another central knows nothing of it. */
  #lately = new DecayingSum(0);
  #armed = false;

  constructor(env: SchedulerEnvironment) {
    this.#env = env;
  }

  /**
   * A central has welcomed this scheduler. One that knows nothing of the short work that came lately is told at once,
   * or it would give the slots that short jobs need to the long ones that have waited for it. What waits still is
   * counted twice when it is needed again, which errs on the side of short jobs, and is forgotten with the rest.
   */
  startAnew(central: Address, policy: PolicySettings, now: Millis): void {
    const windowMs = reserveWindowMs(policy);
    if (this.#policy === undefined || reserveWindowMs(this.#policy) !== windowMs)
      this.#lately = new DecayingSum(windowMs);
    this.#policy = policy;
    if (central !== this.#central) this.#cameMs = this.#lately.at(now);
    this.#central = central;
    if (this.#cameMs > 0) this.#send(central, { shortMs: 0, longMs: 0, cameMs: this.#cameMs });
    this.#cameMs = 0;
    if (this.#tellsShares) this.#tellSoon(now);
  }

  /** Run time of a task that completed. */
  worked(long: boolean, runMs: Millis): void {
    if (long) this.#longMs += runMs;
    else this.#shortMs += runMs;
  }

  /**
   * A short batch has come: estimate × tasks.
   *
   * @param isTold central hears of it as a need
   */
  shortCame(workMs: Millis, isTold: boolean, now: Millis): void {
    if (this.#policy?.reserve !== 'auto') return;
    this.#lately.add(workMs, now);
    if (isTold) return;
    this.#cameMs += workMs;
    this.#tellSoon(now);
  }

  /** @param central NOBODY while there is none */
  tell(central: Address, now: Millis): void {
    this.#armed = false;
    const hasShares = this.#tellsShares && this.#shortMs + this.#longMs > 0;
    if (central !== NOBODY && (hasShares || this.#cameMs > 0)) {
      this.#send(central, { shortMs: this.#shortMs, longMs: this.#longMs, cameMs: this.#cameMs });
      this.#shortMs = 0;
      this.#longMs = 0;
      this.#cameMs = 0;
    }
    if (this.#tellsShares || this.#cameMs > 0) this.#tellSoon(now);
  }

  get #tellsShares(): boolean {
    return this.#policy?.shortPartition === 'auto';
  }

  #send(central: Address, usage: Omit<MessageOf<'usage'>, 'type'>): void {
    this.#env.send(central, { type: 'usage', ...usage });
  }

  #tellSoon(now: Millis): void {
    if (this.#armed) return;
    this.#armed = true;
    this.#env.setTimer('usage', 0, now + USAGE_MS);
  }
}
