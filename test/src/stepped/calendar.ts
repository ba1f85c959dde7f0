import type { Millis } from '@goshawk/core';

export interface Event {
  readonly at: Millis;
  readonly happen: () => void;
  readonly sequence: number;
  /** It does not happen any more. */
  isOff: boolean;
}

/** What is going to happen, in the order of time, and at one time in the order in which it was put in. */
export class Calendar {
  /** A binary heap. */
  readonly #events: Event[] = [];
  #sequence = 0;
  #now: Millis = 0;

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

  /** Infinity when nothing is going to happen. */
  get nextAt(): Millis {
    while (this.#events[0]?.isOff) this.#removeFirst();
    return this.#events[0]?.at ?? Number.POSITIVE_INFINITY;
  }

  /** Lets the next thing happen, if that is until then; otherwise it is then. @returns whether anything has happened */
  step(until: Millis): boolean {
    const isDue = this.nextAt <= until;
    if (isDue) this.happenNext();
    else this.#now = until;
    return isDue;
  }

  /** Lets the next thing happen, if there is any. */
  happenNext(): void {
    if (this.nextAt === Number.POSITIVE_INFINITY) return;
    const next = this.#events[0]!;
    this.#removeFirst();
    this.#now = Math.max(this.#now, next.at);
    next.happen();
  }

  /** To a time before which nothing happens. */
  passTo(time: Millis): void {
    this.#now = time;
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
