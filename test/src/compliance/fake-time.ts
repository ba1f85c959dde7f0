import type { Millis } from '@goshawk/core';
import type { Alarm } from '@goshawk/runtime';
import { Calendar } from '../stepped/calendar.js';

/** A clock that stands until it is moved, with alarms that ring on time, and a turn of an event loop. */
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

  /** @returns what calls it off */
  at(time: Millis, happen: () => void): () => void {
    const event = this.#calendar.put(time, () => this.turn(happen));
    return () => {
      event.isOff = true;
    };
  }

  /** At the end of this turn, as a microtask. */
  soon(happen: () => void): void {
    this.#soon.push(happen);
  }

  /** Moves to what comes next, and lets it happen. */
  happenNext(): void {
    this.#calendar.happenNext();
  }

  /** An event in a separate turn. */
  turn(happen: () => void): void {
    happen();
    for (let next = this.#soon.shift(); next !== undefined; next = this.#soon.shift()) next();
  }

  /** Rings at its very time, where Node's comes up to a millisecond later. */
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
