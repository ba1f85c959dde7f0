import type { Millis } from './ids.js';

/** Σ amount · e^(−age ÷ window): what has come lately, the latest counting most. */
export class DecayingSum {
  #windowMs: Millis;
  #sum = 0;
  /** The sum is as of then. */
  #at: Millis = 0;

  /** @param windowMs in which an amount falls to 1/e; 0: amounts stay */
  constructor(windowMs: Millis) {
    this.#windowMs = windowMs;
  }

  add(amount: number, now: Millis): void {
    this.#sum = this.at(now) + amount;
  }

  at(now: Millis): number {
    if (now > this.#at) {
      if (this.#windowMs > 0) this.#sum *= Math.exp((this.#at - now) / this.#windowMs);
      this.#at = now;
    }
    return this.#sum;
  }

  /** Changes the window for later amounts. The rate per millisecond stays the same. */
  rescale(windowMs: Millis, now: Millis): void {
    if (windowMs === this.#windowMs) return;
    this.#sum = this.#windowMs > 0 ? (this.at(now) * windowMs) / this.#windowMs : 0;
    this.#windowMs = windowMs;
  }
}
