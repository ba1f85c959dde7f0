import { IndexedHeap, type Millis } from '@goshawk/core';

export interface Event {
  readonly at: Millis;
  readonly happen: () => void;
  /** It does not happen any more. */
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

  /** Infinity when nothing is going to happen. */
  get nextAt(): Millis {
    while (this.#events.get(this.#agenda.top())?.isOff) this.#takeFirst();
    return this.#agenda.topKey();
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
