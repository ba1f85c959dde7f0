import type { Millis } from '@goshawk/core';

export interface Event {
  readonly at: Millis;
  readonly happen: () => void;
  readonly sequence: number;
  /** It does not happen any more. */
  isOff: boolean;
}

/** What is going to happen, in the order of true time, and at one time in the order in which it was put in. */
export class Calendar {
  /** A binary heap. */
  readonly #events: Event[] = [];
  #sequence = 0;
  #now: Millis = 0;

  /** True time, which no clock of the cluster shows. ms */
  get now(): Millis {
    return this.#now;
  }

  put(at: Millis, happen: () => void): Event {
    const event = { at: Math.max(at, this.#now), happen, sequence: this.#sequence++, isOff: false };
    const events = this.#events;
    let place = events.push(event) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (isBefore(events[parent]!, event)) break;
      events[place] = events[parent]!;
      place = parent;
    }
    events[place] = event;
    return event;
  }

  /** Lets the next thing happen, if that is until then; otherwise it is then. @returns whether anything has happened */
  step(until: Millis): boolean {
    for (let next = this.#events[0]; next !== undefined && next.at <= until; next = this.#events[0]) {
      this.#removeFirst();
      if (next.isOff) continue;
      this.#now = next.at;
      next.happen();
      return true;
    }
    this.#now = until;
    return false;
  }

  #removeFirst(): void {
    const events = this.#events;
    const last = events.pop()!;
    const size = events.length;
    if (size === 0) return;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= size) break;
      if (child + 1 < size && isBefore(events[child + 1]!, events[child]!)) child++;
      if (isBefore(last, events[child]!)) break;
      events[place] = events[child]!;
      place = child;
    }
    events[place] = last;
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.at < other.at || (one.at === other.at && one.sequence < other.sequence);
}
