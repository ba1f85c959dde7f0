import { DecayingSum, type Millis } from '@goshawk/core';

/**
 * Limits the number of running long tasks to all slots but a reserve for short ones. With `auto` the reserve is the
 * recent average demand of short work plus an allowance for bursts, within bounds. It is a number of slots, not a set
 * of workers, so long tasks may use any slots beyond it. The demand is the work that arrived or, if larger, the slots
 * in use; tasks not known to be long count while they run.
 */
export class LongLimit {
  readonly #reserve: number | 'auto';
  #windowMs: Millis;
  /** Short work that arrived recently, in ms of run time. */
  readonly #work: DecayingSum;
  /** Slots of tasks not known to be long × time. */
  readonly #occupied: DecayingSum;
  #occupiedSlots = 0;
  /** When that number of slots last changed. */
  #occupiedSince: Millis = 0;

  /**
   * @param reserve a fraction of all slots, or `auto`
   * @param windowMs averaging window of the demand for short work
   */
  constructor(reserve: number | 'auto', windowMs: Millis) {
    this.#reserve = reserve;
    this.#windowMs = windowMs;
    this.#work = new DecayingSum(windowMs);
    this.#occupied = new DecayingSum(OCCUPIED_WINDOWS * windowMs);
  }

  /** Changes the averaging window of the demand for short work. */
  setWindow(windowMs: Millis, now: Millis): void {
    if (windowMs === this.#windowMs) return;
    this.setShortSlots(this.#occupiedSlots, now);
    this.#windowMs = windowMs;
    this.#work.rescale(windowMs, now);
    this.#occupied.rescale(OCCUPIED_WINDOWS * windowMs, now);
  }

  /** Adds short work that has arrived: estimate × tasks. */
  shortArrived(workMs: Millis, now: Millis): void {
    this.#work.add(workMs, now);
  }

  /** Sets the number of slots for tasks not known to be long. */
  setShortSlots(slots: number, now: Millis): void {
    const windowMs = OCCUPIED_WINDOWS * this.#windowMs;
    if (windowMs > 0) {
      // The time for which the number was constant, weighted by the decay of the sum.
      const weightedMs = windowMs * (1 - Math.exp((this.#occupiedSince - now) / windowMs));
      this.#occupied.add(this.#occupiedSlots * weightedMs, now);
    }
    this.#occupiedSlots = slots;
    this.#occupiedSince = now;
  }

  /** Maximum number of long tasks in this many slots. */
  of(slots: number, now: Millis): number {
    return this.#limitFor(this.#windowMs > 0 ? this.#needed(now) : 0, slots);
  }

  /** Whether the limit may rise with time alone, because the demand of short work decays. */
  mayRiseWithTime(slots: number, now: Millis): boolean {
    return this.of(slots, now) < this.#limitFor(0, slots);
  }

  /** @param needed recent average demand of short work, in slots */
  #limitFor(needed: number, slots: number): number {
    if (this.#reserve !== 'auto') return Math.round(slots * (1 - this.#reserve));
    const burstSlots = Math.max(BURST_FRACTION * slots, BURST_ROOTS * Math.sqrt(needed));
    return slots - Math.min(Math.floor(RESERVE_MAX * slots), Math.round(needed + burstSlots));
  }

  #needed(now: Millis): number {
    const arrived = this.#work.at(now) / this.#windowMs;
    const occupied = this.#occupied.at(now) / (OCCUPIED_WINDOWS * this.#windowMs);
    return Math.max(arrived, occupied);
  }
}

/** Slots are averaged over more time than work, because a task not known to be long may run for many cutoffs. */
const OCCUPIED_WINDOWS = 4;
/** Allowance for bursts: a fraction of all slots or, in small clusters, this many square roots of the demand. */
const BURST_FRACTION = 0.05;
const BURST_ROOTS = 4;
/** Maximum reserve, as a fraction of all slots. */
const RESERVE_MAX = 0.3;
