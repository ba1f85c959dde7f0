import type { Millis } from '@goshawk/core';
import type { Alarm } from '@goshawk/runtime';
import { Calendar } from '../stepped/calendar.js';

/** A clock that advances only on request, with alarms that fire on time, and a turn of an event loop. */
export class FakeTime {
  readonly #calendar = new Calendar();
  readonly #soon: (() => void)[] = [];

  get now(): Millis {
    return this.#calendar.now;
  }

  get nextAt(): Millis {
    return this.#calendar.nextAt;
  }

  passTo(time: Millis): void {
    this.#calendar.passTo(time);
  }

  /** @returns a function that cancels it */
  at(time: Millis, happen: () => void): () => void {
    const event = this.#calendar.put(time, () => this.turn(happen));
    return () => {
      event.isOff = true;
    };
  }

  /** Runs at the end of this turn, as a microtask. */
  soon(happen: () => void): void {
    this.#soon.push(happen);
  }

  /** Advances to the next event, and runs it. */
  happenNext(): void {
    this.#calendar.happenNext();
  }

  /** An event in a separate turn. */
  turn(happen: () => void): void {
    happen();
    for (let next = this.#soon.shift(); next !== undefined; next = this.#soon.shift()) next();
  }

  /** Fires at the exact time, where Node's timers are up to a millisecond late. */
  alarm(): Alarm {
    let callOff = () => {};
    return {
      setFor: (at, ring) => {
        callOff();
        callOff = this.at(at, ring);
      },
      clear: () => callOff(),
    };
  }
}
