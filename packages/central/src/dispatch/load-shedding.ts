import type { Millis } from '@goshawk/core';

/** Check interval in ms. */
export const LOOK_MS = 1_000;
/** Central is overloaded if it is busy for this fraction of the time in this many consecutive checks. */
const TOO_BUSY = 0.8;
const TOO_BUSY_LOOKS = 3;
/**
 * Central has recovered if, over EASED_LOOKS consecutive checks, tasks arrive at no more than EASED times the overload
 * rate, and in each of them it is busy for less than EASED_BUSY of the time.
 */
const EASED = 0.6;
const EASED_BUSY = 0.5;
const EASED_LOOKS = 10;
/**
 * Delay in ms after which central, if not busy in EASED_LOOKS consecutive checks, resumes matching at any arrival rate,
 * because tasks may not have caused the overload. Each timed attempt doubles the delay.
 */
const TRY_AGAIN_MS = 60_000;
const TRY_AGAIN_MAX_MS = 3_600_000;

/**
 * Decides whether central matches short jobs or sheds them. One process can match only a limited number of tasks per
 * second, so central sheds short jobs after it was busy most of the time in several consecutive checks. It resumes when
 * the arrival rate has fallen well below the rate of the overload, or after a delay. This prevents oscillation.
 */
export class LoadShedding {
  #isMatching = true;
  #lookedAt: Millis = 0;
  #busyMs: Millis = 0;
  /** Short tasks that arrived since the last check. */
  #arrived = 0;
  /** Number of consecutive checks that favor a change, and of tasks that arrived during these checks. */
  #looks = 0;
  #tasks = 0;
  /** Short tasks that arrived per check interval during the overload. */
  #tooMany = 0;
  #givenUpAt: Millis = 0;
  #tryAgainMs = TRY_AGAIN_MS;

  get isMatching(): boolean {
    return this.#isMatching;
  }

  /** Counts short tasks that arrive, whether central matches them or not. */
  arrived(tasks: number): void {
    this.#arrived += tasks;
  }

  /** Checks the load. @param busyMs how long the process has been busy since its start */
  look(busyMs: Millis, now: Millis): void {
    const share = now > this.#lookedAt ? (busyMs - this.#busyMs) / (now - this.#lookedAt) : 0;
    this.#lookedAt = now;
    this.#busyMs = busyMs;
    if (this.#isMatching) this.#lookWhileMatching(share, now);
    else this.#checkRecovery(share, now);
    this.#arrived = 0;
  }

  #lookWhileMatching(share: number, now: Millis): void {
    if (share < TOO_BUSY) return this.#startCounting();
    this.#count();
    if (this.#looks < TOO_BUSY_LOOKS) return;
    this.#tooMany = this.#tasks / this.#looks;
    this.#isMatching = false;
    this.#givenUpAt = now;
    this.#startCounting();
  }

  #checkRecovery(share: number, now: Millis): void {
    if (share >= EASED_BUSY) return this.#startCounting();
    this.#count();
    if (this.#looks < EASED_LOOKS) return;
    const hasEased = this.#tasks <= EASED * this.#tooMany * this.#looks;
    const triesAgain = now - this.#givenUpAt >= this.#tryAgainMs;
    if (hasEased || triesAgain) this.#isMatching = true;
    if (hasEased) this.#tryAgainMs = TRY_AGAIN_MS;
    else if (triesAgain) this.#tryAgainMs = Math.min(2 * this.#tryAgainMs, TRY_AGAIN_MAX_MS);
    this.#startCounting();
  }

  #count(): void {
    this.#looks++;
    this.#tasks += this.#arrived;
  }

  #startCounting(): void {
    this.#looks = 0;
    this.#tasks = 0;
  }
}
