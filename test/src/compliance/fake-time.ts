import type { Millis } from '@goshawk/core';
import type { Alarm } from '@goshawk/runtime';
import { Agenda } from '../stepped/agenda.js';

/** A clock that stands until it is moved, with alarms that ring on time, and a turn of an event loop. */
export class FakeTime {
  now: Millis = 0;
  readonly #agenda = new Agenda();
  readonly #soon: (() => void)[] = [];

  get nextAt(): Millis {
    return this.#agenda.nextAt;
  }

  /** @returns what calls it off */
  at(time: Millis, happen: () => void): () => void {
    const event = this.#agenda.put(Math.max(time, this.now), happen);
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
    const event = this.#agenda.take();
    if (event === undefined) return;
    this.now = event.at;
    this.turn(event.happen);
  }

  /** Something that happens in a turn of its own. */
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
