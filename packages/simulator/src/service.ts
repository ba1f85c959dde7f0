import type { Millis } from '@goshawk/core';

/** A process that handles one message after another, each in the same time, in the order in which they arrive. */
export class Service {
  readonly #eachMs: Millis;
  #freeAt: Millis = 0;
  #servedMs: Millis = 0;

  /** @param eachMs how long it takes for one */
  constructor(eachMs: Millis) {
    this.#eachMs = eachMs;
  }

  /** A message has arrived. @returns when it is handled, behind all that came before */
  handledAt(now: Millis): Millis {
    this.#freeAt = Math.max(this.#freeAt, now) + this.#eachMs;
    this.#servedMs += this.#eachMs;
    return this.#freeAt;
  }

  /** For how long it has been at work by then. */
  busyMs(now: Millis): Millis {
    return this.#servedMs - Math.max(0, this.#freeAt - now);
  }
}
