import { IndexedHeap, type Millis, TIMER_MAX_MS } from '@goshawk/core';

/** Something that is to happen once at a time. */
export interface Alarm {
  /** Moves it, if it is set already. `at` is a reading of `performance.now()`. */
  set(at: Millis): void;
  /** For good: it may not be set again. */
  clear(): void;
}

/**
 * All that a client has to do at some time, on one timer of Node's. Of thousands of requests and watches
 * nearly every one sets an alarm that never rings, and here that costs a few comparisons.
 */
export class Alarms {
  readonly #heap = new IndexedHeap();
  readonly #rings: (((now: Millis) => void) | undefined)[] = [];
  readonly #free: number[] = [];
  #timer: NodeJS.Timeout | undefined;
  #armedFor: Millis = Number.POSITIVE_INFINITY;
  #isClosed = false;

  /** @param ring called when the time has come; it may set the alarm again */
  add(ring: (now: Millis) => void): Alarm {
    const place = this.#free.pop() ?? this.#rings.length;
    this.#rings[place] = ring;
    return {
      set: (at) => {
        if (this.#rings[place] !== ring || this.#isClosed) return;
        this.#heap.set(place, at);
        this.#arm();
      },
      clear: () => {
        if (this.#rings[place] !== ring) return;
        this.#heap.delete(place);
        this.#rings[place] = undefined;
        this.#free.push(place);
      },
    };
  }

  /** None rings any more. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const place of [...this.#heap.ids()]) this.#heap.delete(place);
    this.#rings.fill(undefined);
  }

  /** Leaves an armed timer alone that comes early enough: it will find nothing due and arm the next one. */
  #arm(): void {
    const at = this.#heap.topKey();
    if (at >= this.#armedFor) return;
    clearTimeout(this.#timer);
    this.#armedFor = at;
    const delay = Math.min(Math.max(1, Math.ceil(at - performance.now())), TIMER_MAX_MS);
    this.#timer = setTimeout(this.#afterMail, delay);
  }

  /** Reads pending messages first: a busy process finds its alarms due together with the replies that cancel them. */
  readonly #afterMail = (): void => void setImmediate(this.#onTimeout);

  readonly #onTimeout = (): void => {
    this.#armedFor = Number.POSITIVE_INFINITY;
    const now = performance.now();
    // One that sets itself for now rings in the next turn, so that this loop ends.
    for (let left = this.#heap.size; left > 0 && this.#heap.topKey() <= now; left--) {
      const place = this.#heap.top();
      this.#heap.delete(place);
      this.#rings[place]?.(now);
    }
    this.#arm();
  };
}
