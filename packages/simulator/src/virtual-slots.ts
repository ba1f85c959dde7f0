import { grown, type KillReason, type Millis } from '@goshawk/core';

/**
 * Runs in the slots of all workers, as columns: one row per slot. End events carry the run's number, so that the end
 * of a killed run is not mistaken for that of its successor.
 */
export class VirtualSlots {
  #runs = new Int32Array(INITIAL);
  /** Start of the run in each slot; NaN if there is none. */
  #startedAt = new Float64Array(INITIAL);
  #size = 0;
  /** Killed runs by row; there are few. */
  readonly #killed = new Map<number, KillReason>();

  get size(): number {
    return this.#size;
  }

  /** Adds consecutive slots. @returns the first */
  add(places: number): number {
    const first = this.#size;
    this.#size += places;
    if (this.#size > this.#runs.length) this.#grow();
    this.#startedAt.fill(Number.NaN, first, this.#size);
    return first;
  }

  /** @returns the number of the new run */
  begin(place: number, now: Millis): number {
    this.#startedAt[place] = now;
    if (this.#killed.size > 0) this.#killed.delete(place);
    return ++this.#runs[place]!;
  }

  /**
   * @returns the new number under which the killed run ends; NO_RUN if there is none, or if it was killed before,
   * because the first reason counts
   */
  kill(place: number, reason: KillReason): number {
    if (Number.isNaN(this.#startedAt[place]) || this.#killed.has(place)) return NO_RUN;
    this.#killed.set(place, reason);
    return ++this.#runs[place]!;
  }

  /** Removes a run without an end. */
  remove(place: number): void {
    this.#runs[place]!++;
    this.#startedAt[place] = Number.NaN;
    this.#killed.delete(place);
  }

  isCurrent(place: number, run: number): boolean {
    return this.#runs[place] === run;
  }

  /** @returns how long it ran */
  end(place: number, now: Millis): Millis {
    const runMs = now - this.#startedAt[place]!;
    this.#startedAt[place] = Number.NaN;
    return runMs;
  }

  /** Returns and clears the reason for which the run was killed; undefined if it was not killed. */
  takeKilled(place: number): KillReason | undefined {
    if (this.#killed.size === 0) return undefined;
    const reason = this.#killed.get(place);
    this.#killed.delete(place);
    return reason;
  }

  #grow(): void {
    this.#runs = grown(this.#runs, this.#size);
    this.#startedAt = grown(this.#startedAt, this.#size);
  }
}

/** This is not the number of any run. */
export const NO_RUN = 0;

const INITIAL = 64;
