import type { Millis } from '@goshawk/core';

/** Check interval in ms. */
export const CHECK_INTERVAL_MS = 1_000;
/**
 * Central is overloaded if it is busy for this fraction of the time, and at least this many short tasks arrive, in this
 * many consecutive checks. With fewer tasks something else keeps it busy, such as its start on a busy machine.
 */
const OVERLOADED_BUSY = 0.8;
const OVERLOADED_ARRIVALS = 100;
const OVERLOADED_CHECKS = 3;
/**
 * Central has recovered if, over RECOVERED_CHECKS consecutive checks, tasks arrive at no more than RECOVERED_ARRIVALS times
 * the overload rate, and in each of them it is busy for less than RECOVERED_BUSY of the time.
 */
const RECOVERED_ARRIVALS = 0.6;
const RECOVERED_BUSY = 0.5;
const RECOVERED_CHECKS = 10;
/**
 * Delay in ms after which central, if not busy in RECOVERED_CHECKS consecutive checks, resumes matching at any arrival
 * rate, because tasks may not have caused the overload. Each timed attempt doubles the delay.
 */
const RETRY_MS = 60_000;
const RETRY_MAX_MS = 3_600_000;

/**
 * Decides whether central matches short jobs or sheds them. One process can match only a limited number of tasks per
 * second, so central sheds short jobs after it was busy most of the time in several consecutive checks. It resumes when
 * the arrival rate has fallen well below the rate of the overload, or after a delay. This prevents oscillation.
 */
export class LoadShedding {
  #isMatching = true;
  #checkedAt: Millis = 0;
  #busyMs: Millis = 0;
  /** Short tasks that arrived since the last check. */
  #arrived = 0;
  /** Number of consecutive checks that favor a change, and of tasks that arrived during these checks. */
  #checks = 0;
  #tasks = 0;
  /** Short tasks that arrived per check interval during the overload. */
  #overloadArrivals = 0;
  #sheddingSince: Millis = 0;
  #retryMs = RETRY_MS;
  readonly #arrivalsMin: number;

  /** @param arrivalsMin short tasks that arrive in each check of an overload */
  constructor(arrivalsMin = OVERLOADED_ARRIVALS) {
    this.#arrivalsMin = arrivalsMin;
  }

  get isMatching(): boolean {
    return this.#isMatching;
  }

  /** Counts short tasks that arrive, whether central matches them or not. */
  arrived(tasks: number): void {
    this.#arrived += tasks;
  }

  /** Checks the load. @param busyMs how long the process has been busy since its start */
  check(busyMs: Millis, now: Millis): void {
    const share = now > this.#checkedAt ? (busyMs - this.#busyMs) / (now - this.#checkedAt) : 0;
    this.#checkedAt = now;
    this.#busyMs = busyMs;
    if (this.#isMatching) this.#checkOverload(share, now);
    else this.#checkRecovery(share, now);
    this.#arrived = 0;
  }

  #checkOverload(share: number, now: Millis): void {
    if (share < OVERLOADED_BUSY || this.#arrived < this.#arrivalsMin) return this.#startCounting();
    this.#count();
    if (this.#checks < OVERLOADED_CHECKS) return;
    this.#overloadArrivals = this.#tasks / this.#checks;
    this.#isMatching = false;
    this.#sheddingSince = now;
    this.#startCounting();
  }

  #checkRecovery(share: number, now: Millis): void {
    if (share >= RECOVERED_BUSY) return this.#startCounting();
    this.#count();
    if (this.#checks < RECOVERED_CHECKS) return;
    const hasRecovered = this.#tasks <= RECOVERED_ARRIVALS * this.#overloadArrivals * this.#checks;
    const isRetryDue = now - this.#sheddingSince >= this.#retryMs;
    if (hasRecovered || isRetryDue) this.#isMatching = true;
    if (hasRecovered) this.#retryMs = RETRY_MS;
    else if (isRetryDue) this.#retryMs = Math.min(2 * this.#retryMs, RETRY_MAX_MS);
    this.#startCounting();
  }

  #count(): void {
    this.#checks++;
    this.#tasks += this.#arrived;
  }

  #startCounting(): void {
    this.#checks = 0;
    this.#tasks = 0;
  }
}
