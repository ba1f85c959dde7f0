import { DenseIds, IndexedHeap, type Millis, TIMER_MAX_MS } from '@goshawk/core';

/** A one-shot timer that can be set again. */
export interface Alarm {
  /** Sets or moves the alarm. `at` is a reading of `performance.now()`. */
  set(at: Millis): void;
  /** Clears it permanently. */
  clear(): void;
}

/**
 * Runs all timers of a client on one timer of Node.js. Almost every request and watch sets an alarm that never fires;
 * on a heap this costs a few comparisons.
 */
export class Alarms {
  readonly #heap = new IndexedHeap();
  readonly #rings: (((now: Millis) => void) | undefined)[] = [];
  readonly #ids = new DenseIds();
  #timer: NodeJS.Timeout | undefined;
  #armedFor: Millis = Number.POSITIVE_INFINITY;
  #isClosed = false;

  /** @param ring called at the set time; it may set the alarm again */
  add(ring: (now: Millis) => void): Alarm {
    const id = this.#ids.take();
    this.#rings[id] = ring;
    return {
      set: (at) => {
        if (this.#rings[id] !== ring || this.#isClosed) return;
        this.#heap.set(id, at);
        this.#arm();
      },
      clear: () => {
        if (this.#rings[id] !== ring) return;
        this.#heap.delete(id);
        this.#rings[id] = undefined;
        this.#ids.release(id);
      },
    };
  }

  /** Clears all alarms permanently. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const id of [...this.#heap.ids()]) this.#heap.delete(id);
    this.#rings.fill(undefined);
  }

  /** Keeps a timer that fires too early: it will find nothing due and set the next one. */
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
    // An alarm that is set for now fires in the next turn, so that this loop ends.
    for (let left = this.#heap.size; left > 0 && this.#heap.topKey() <= now; left--) {
      const id = this.#heap.top();
      this.#heap.delete(id);
      this.#rings[id]?.(now);
    }
    this.#arm();
  };
}
