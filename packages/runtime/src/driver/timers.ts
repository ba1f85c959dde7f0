import { type Channel, channel } from 'node:diagnostics_channel';
import { DenseIds, Histogram, IndexedHeap, invariant, type Millis } from '@goshawk/core';
import { type Alarm, NodeAlarm } from './alarm.js';

/** The timers of one state machine, each named by (timer, key). */
export interface NamedTimers {
  /**
   * Sets or moves a timer. It calls the state machine at `at` or slightly later, never within this call.
   * Timers with equal times fire in the order in which they were set. A time in the past counts as now.
   */
  set(timer: string, key: number, at: Millis): void;
  clear(timer: string, key: number): void;
  /** Clears all timers. */
  close(): void;
}

/** Bucket bounds of the delay histogram, in ms, up to delays that make leases expire. */
const LATE_BOUNDS_MS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 10_000];

type Wake = (timer: string, key: number) => void;

interface Entry {
  readonly timer: string;
  readonly key: number;
  readonly ids: Map<number, number>;
  readonly wake: Wake;
  /** Position in the order in which timers were set. */
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
  readonly #ids = new DenseIds();
  readonly #alarm: Alarm;
  /**
   * Delays of the first timer of each alarm. They measure the event loop delay without a separate timer,
   * which would wake an idle process.
   */
  readonly lateMs = new Histogram(LATE_BOUNDS_MS);
  #sequence = 0;
  /** Time for which the alarm is set: the time of the first entry or earlier. */
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
          id = this.#ids.take();
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
    this.#ids.release(id);
  }

  /**
   * Sets the alarm for the first entry, unless it is already set for that time or earlier. An alarm that
   * fires too early finds no due timer and is set again.
   */
  #arm(): void {
    const at = this.#heap.topKey();
    if (at >= this.#armedFor || this.#closed) return;
    this.#armedFor = at;
    this.#alarm.setFor(at, this.#onAlarm);
  }

  readonly #onAlarm = (): void => {
    this.#armedFor = Number.POSITIVE_INFINITY;
    // Timers that become due during this call wait for the next alarm, so that messages are read first.
    let left = this.#heap.size;
    const due = this.#clock();
    const lateMs = due - this.#heap.topKey();
    if (lateMs >= 0) this.lateMs.add(lateMs);
    while (left > 0 && this.#heap.topKey() <= due) left -= this.#fireNext();
    this.#arm();
  };

  /**
   * Fires the timers with the earliest time, in the order in which they were set. Skips those that another of
   * them clears or moves. @returns the number of timers removed from the heap
   */
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

/** Event of `goshawk.timer.fired`: a machine's timer. Subscribe to it like the channels of `@goshawk/transport`. */
export interface TimerFired {
  readonly timer: string;
  readonly lateMs: Millis;
}

const timerFired: Pick<Channel, 'hasSubscribers'> & { publish(message: TimerFired): void } =
  channel('goshawk.timer.fired');
