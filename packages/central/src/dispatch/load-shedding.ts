import type { Millis } from '@goshawk/core';

/** Check interval in ms. */
export const LOOK_MS = 1_000;
/** Central is overloaded if it is busy for this fraction of the time in this many consecutive checks. */
const TOO_BUSY = 0.8;
const TOO_BUSY_LOOKS = 3;
/**
 * Central has recovered if tasks arrive at less than this fraction of the overload rate in this many consecutive checks,
 * and it has time to match them.
 */
const EASED = 0.6;
const EASED_BUSY = 0.5;
const EASED_LOOKS = 10;
/**
 * Time in ms after which central resumes matching in any case, because something other than tasks may have caused the
 * overload. Each failure doubles it.
 */
const TRY_AGAIN_MS = 60_000;
const TRY_AGAIN_MAX_MS = 3_600_000;

/**
 * Decides whether central matches short jobs or sheds them, because one process can match only a limited number of tasks
 * per second. It sheds them after it was busy nearly all the time for a while. It resumes when the arrival rate has
 * fallen far enough that it will not shed them again immediately. The gap between the thresholds prevents oscillation.
 */
export class LoadShedding {
  #isMatching = true;
  #lookedAt: Millis = 0;
  #busyMs: Millis = 0;
  /** Short tasks that arrived since the last check. */
  #arrived = 0;
  /** Number of consecutive checks that favored a change, and of tasks that arrived during them. */
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
