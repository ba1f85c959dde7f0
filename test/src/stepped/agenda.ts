import type { Millis } from '@goshawk/core';

export interface Event {
  readonly at: Millis;
  readonly happen: () => void;
  /** It does not happen any more. */
  isOff: boolean;
}

/** What is going to happen, in the order of time, and at one time in the order in which it was put in. */
export class Agenda {
  readonly #events: Event[] = [];

  put(at: Millis, happen: () => void): Event {
    const event = { at, happen, isOff: false };
    let place = this.#events.length;
    while (place > 0 && this.#events[place - 1]!.at > at) place--;
    this.#events.splice(place, 0, event);
    return event;
  }

  /** Infinity when nothing is. */
  get nextAt(): Millis {
    while (this.#events[0]?.isOff) this.#events.shift();
    return this.#events[0]?.at ?? Number.POSITIVE_INFINITY;
  }

  take(): Event | undefined {
    return this.nextAt === Number.POSITIVE_INFINITY ? undefined : this.#events.shift();
  }
}
