import { IndexedHeap, invariant, type Millis } from '@goshawk/core';
import { timerFired } from '../diagnostics/channels.js';

/** The longest delay that Node takes; it fires at once for anything longer. 24.8 days. */
const NODE_DELAY_MAX_MS = 2 ** 31 - 1;

/** The timers of one machine, each named by (timer, key). */
export interface NamedTimers {
  /** Calls the machine at `at` or a little later, never before; moves the timer if it is set already. */
  set(timer: string, key: number, at: Millis): void;
  clear(timer: string, key: number): void;
}

export type Wake = (timer: string, key: number) => void;

interface Entry {
  readonly timer: string;
  readonly key: number;
  readonly ids: Map<number, number>;
  readonly wake: Wake;
}

/**
 * All timers of a process in one heap, with one timer of Node's for the first of them. Machines set, move and
 * clear timers far more often than these fire (each question that is answered in time clears one), and
 * in a heap that costs a few comparisons and no object of the event loop.
 */
export class TimerQueue {
  readonly #clock: () => Millis;
  /** By time; ids are places in `#entries`. */
  readonly #heap = new IndexedHeap();
  readonly #entries: (Entry | undefined)[] = [];
  readonly #freeIds: number[] = [];
  #armed: NodeJS.Timeout | undefined;
  /** When the armed timer wakes us. Never later than the first entry is due, maybe earlier. */
  #armedFor: Millis = Number.POSITIVE_INFINITY;
  #closed = false;

  /** @param clock monotonic, ms */
  constructor(clock: () => Millis) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#heap.size;
  }

  /** @param wake called for each timer that is due, with its name */
  forMachine(wake: Wake): NamedTimers {
    const byTimer = new Map<string, Map<number, number>>();
    return {
      set: (timer, key, at) => {
        invariant(!Number.isNaN(at), () => `timer ${timer}/${key} was set to no time`);
        if (this.#closed) return;
        let ids = byTimer.get(timer);
        if (ids === undefined) {
          ids = new Map();
          byTimer.set(timer, ids);
        }
        let id = ids.get(key);
        if (id === undefined) {
          id = this.#freeIds.pop() ?? this.#entries.length;
          this.#entries[id] = { timer, key, ids, wake };
          ids.set(key, id);
        }
        this.#heap.set(id, at);
        this.#arm();
      },
      clear: (timer, key) => {
        const id = byTimer.get(timer)?.get(key);
        if (id !== undefined) this.#forget(id);
      },
    };
  }

  /** Nothing fires any more. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#armed);
    for (const id of [...this.#heap.ids()]) this.#forget(id);
  }

  #forget(id: number): Entry {
    const entry = this.#entries[id]!;
    entry.ids.delete(entry.key);
    this.#entries[id] = undefined;
    this.#heap.delete(id);
    this.#freeIds.push(id);
    return entry;
  }

  /** Leaves an armed timer alone that comes early enough: it will find nothing due and arm the next one. */
  #arm(): void {
    const at = this.#heap.topKey();
    if (at >= this.#armedFor || this.#closed) return;
    clearTimeout(this.#armed);
    this.#armedFor = at;
    // Rounded up, since Node rounds down; it counts from the start of its turn besides, so it may still be
    // early by our clock.
    const delay = Math.min(Math.max(1, Math.ceil(at - this.#clock())), NODE_DELAY_MAX_MS);
    this.#armed = setTimeout(this.#onTimeout, delay);
  }

  readonly #onTimeout = (): void => {
    this.#armedFor = Number.POSITIVE_INFINITY;
    // A machine that sets a timer for now from within one must not keep the event loop here for ever.
    for (let left = this.#heap.size; left > 0 && this.#heap.topKey() <= this.#clock(); left--) {
      const at = this.#heap.topKey();
      const { timer, key, wake } = this.#forget(this.#heap.top());
      if (timerFired.hasSubscribers) timerFired.publish({ timer, lateMs: this.#clock() - at });
      wake(timer, key);
    }
    this.#arm();
  };
}
