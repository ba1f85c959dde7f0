import type { Millis } from '@goshawk/core';

/** A process that handles messages sequentially in order of arrival, each for the same time. */
export class Service {
  readonly #eachMs: Millis;
  #freeAt: Millis = 0;
  #servedMs: Millis = 0;

  /** @param eachMs time for each message */
  constructor(eachMs: Millis) {
    this.#eachMs = eachMs;
  }

  /** Adds a message that has arrived. @returns when it is handled, after all earlier messages */
  handledAt(now: Millis): Millis {
    this.#freeAt = Math.max(this.#freeAt, now) + this.#eachMs;
    this.#servedMs += this.#eachMs;
    return this.#freeAt;
  }

  /** Returns how long the process has been busy until then. */
  busyMs(now: Millis): Millis {
    return this.#servedMs - Math.max(0, this.#freeAt - now);
  }
}
