import { IndexedHeap, type Millis } from '@goshawk/core';

export interface Event {
  readonly at: Millis;
  readonly happen: () => void;
  /** Cancels the event. */
  isOff: boolean;
}

/** Future events in order of time; events at the same time keep their order of insertion. */
export class Calendar {
  /** Numbers of events, by their times. */
  readonly #agenda = new IndexedHeap();
  readonly #events = new Map<number, Event>();
  #next = 0;
  #now: Millis = 0;

  get now(): Millis {
    return this.#now;
  }

  put(at: Millis, happen: () => void): Event {
    const event = { at: Math.max(at, this.#now), happen, isOff: false };
    const number = this.#next++;
    this.#events.set(number, event);
    this.#agenda.set(number, event.at);
    return event;
  }

  /** Infinity if no event is scheduled. */
  get nextAt(): Millis {
    while (this.#events.get(this.#agenda.top())?.isOff) this.#takeFirst();
    return this.#agenda.topKey();
  }

  /** Runs the next event if it is due by then; otherwise advances to that time. @returns whether an event ran */
  step(until: Millis): boolean {
    const isDue = this.nextAt <= until;
    if (isDue) this.happenNext();
    else this.#now = until;
    return isDue;
  }

  /** Runs the next event, if there is one. */
  happenNext(): void {
    if (this.nextAt === Number.POSITIVE_INFINITY) return;
    const { at, happen } = this.#takeFirst();
    this.#now = Math.max(this.#now, at);
    happen();
  }

  /** Advances to a time. Nothing may be due before it. */
  passTo(time: Millis): void {
    this.#now = time;
  }

  #takeFirst(): Event {
    const number = this.#agenda.top();
    const event = this.#events.get(number)!;
    this.#agenda.delete(number);
    this.#events.delete(number);
    return event;
  }
}
