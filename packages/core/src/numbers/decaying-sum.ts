import type { Millis } from '../ids.js';

/** Σ amount · e^(−age ÷ window): a sum in which recent amounts count most. */
export class DecayingSum {
  #windowMs: Millis;
  #sum = 0;
  /** The sum is valid at this time. */
  #at: Millis = 0;

  /** @param windowMs time in which an amount decays to 1/e; 0: no decay */
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

  /** Changes the window for later amounts, preserving the current rate per millisecond. */
  rescale(windowMs: Millis, now: Millis): void {
    if (windowMs === this.#windowMs) return;
    this.#sum = this.#windowMs > 0 ? (this.at(now) * windowMs) / this.#windowMs : 0;
    this.#windowMs = windowMs;
  }
}
