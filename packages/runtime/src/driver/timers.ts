import { Histogram, IndexedHeap, invariant, type Millis } from '@goshawk/core';
import { timerFired } from '../diagnostics/channels.js';
import { type Alarm, NodeAlarm } from './alarm.js';

/** The timers of one machine, each named by (timer, key). */
export interface NamedTimers {
  /**
   * Calls the machine at `at` or slightly later, never within this call. Moves an existing timer. Timers with equal
   * times fire in the order in which they were set. A time in the past counts as now.
   */
  set(timer: string, key: number, at: Millis): void;
  clear(timer: string, key: number): void;
  /** Clears all timers. */
  close(): void;
}

/** Bounds of the delay histogram, up to delays at which leases expire. ms */
const LATE_BOUNDS_MS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 10_000];

type Wake = (timer: string, key: number) => void;

interface Entry {
  readonly timer: string;
  readonly key: number;
  readonly ids: Map<number, number>;
  readonly wake: Wake;
  /** Order of setting. */
  sequence: number;
}

/**
 * All timers of a process in one heap with one alarm. Most timers are moved or cleared before they fire, which costs
 * a few comparisons here.
 */
export class TimerQueue {
  readonly #clock: () => Millis;
  /** Heap by time; ids are indices of `#entries`. */
  readonly #heap = new IndexedHeap();
  readonly #entries: (Entry | undefined)[] = [];
  readonly #freeIds: number[] = [];
  readonly #alarm: Alarm;
  /**
   * Delay of the first timer of each round. It measures the delay of the event loop without an extra timer, which
   * would wake an idle process.
   */
  readonly lateMs = new Histogram(LATE_BOUNDS_MS);
  #sequence = 0;
  /** Time of the alarm. Never later than the first entry is due, possibly earlier. */
  #armedFor: Millis = Number.POSITIVE_INFINITY;
  #closed = false;

  /** @param clock monotonic, ms */
  constructor(clock: () => Millis, alarm: Alarm = new NodeAlarm(clock)) {
    this.#clock = clock;
    this.#alarm = alarm;
  }

  get size(): number {
    return this.#heap.size;
  }

  /** @param wake called with the name of each timer that is due */
  forMachine(wake: Wake): NamedTimers {
    const byTimer = new Map<string, Map<number, number>>();
    let isClosed = false;
    return {
      set: (timer, key, at) => {
        invariant(!Number.isNaN(at), () => `timer ${timer}/${key} was set to an invalid time`);
        if (this.#closed || isClosed) return;
        let ids = byTimer.get(timer);
        if (ids === undefined) {
          ids = new Map();
          byTimer.set(timer, ids);
        }
        let id = ids.get(key);
        if (id === undefined) {
          id = this.#freeIds.pop() ?? this.#entries.length;
          this.#entries[id] = { timer, key, ids, wake, sequence: 0 };
          ids.set(key, id);
        }
        this.#entries[id]!.sequence = this.#sequence++;
        this.#heap.set(id, Math.max(at, this.#clock()));
        this.#arm();
      },
      clear: (timer, key) => {
        const id = byTimer.get(timer)?.get(key);
        if (id !== undefined) this.#remove(id);
      },
      close: () => {
        isClosed = true;
        for (const ids of byTimer.values()) for (const id of [...ids.values()]) this.#remove(id);
      },
    };
  }

  /** Clears all timers and ignores new ones. */
  close(): void {
    this.#closed = true;
    this.#alarm.clear();
    for (const id of [...this.#heap.ids()]) this.#remove(id);
  }

  #remove(id: number): void {
    const { ids, key } = this.#entries[id]!;
    ids.delete(key);
    this.#entries[id] = undefined;
    this.#heap.delete(id);
    this.#freeIds.push(id);
  }

  /** Keeps an alarm that fires too early: it will find nothing due and set the next one. */
  #arm(): void {
    const at = this.#heap.topKey();
    if (at >= this.#armedFor || this.#closed) return;
    this.#armedFor = at;
    this.#alarm.setFor(at, this.#onAlarm);
  }

  readonly #onAlarm = (): void => {
    this.#armedFor = Number.POSITIVE_INFINITY;
    // Timers that become due in this turn wait for the next one, so that messages are read in between.
    let left = this.#heap.size;
    const due = this.#clock();
    const lateMs = due - this.#heap.topKey();
    if (lateMs >= 0) this.lateMs.add(lateMs);
    while (left > 0 && this.#heap.topKey() <= due) left -= this.#fireNext();
    this.#arm();
  };

  /** Fires the due timers in order, unless one clears or moves another. @returns their number */
  #fireNext(): number {
    const at = this.#heap.topKey();
    const due: [id: number, entry: Entry][] = [];
    while (this.#heap.size > 0 && this.#heap.topKey() === at) {
      const id = this.#heap.top();
      this.#heap.delete(id);
      due.push([id, this.#entries[id]!]);
    }
    if (due.length > 1) due.sort(([, one], [, other]) => one.sequence - other.sequence);
    for (const [id, entry] of due) {
      if (this.#closed || this.#entries[id] !== entry || this.#heap.has(id)) continue;
      this.#remove(id);
      const { timer, key, wake } = entry;
      if (timerFired.hasSubscribers) timerFired.publish({ timer, lateMs: this.#clock() - at });
      wake(timer, key);
    }
    return due.length;
  }
}
