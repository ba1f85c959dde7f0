import { grown, type KillReason, type Millis } from '@goshawk/core';

/**
 * Runs in the slots of all workers, as columns: one row per slot. End events carry the run's number, so that the end
 * of a killed run is not mistaken for that of its successor.
 */
export class VirtualSlots {
  #runs = new Int32Array(INITIAL);
  /** Start of the run in each slot; NaN if there is none. */
  #startedAt = new Float64Array(INITIAL);
  /** When the run in each slot ends unless it pauses. */
  #endsAt = new Float64Array(INITIAL);
  #size = 0;
  /** Killed runs by row; there are few. */
  readonly #killed = new Map<number, KillReason>();
  /** When each paused run was paused, by row. */
  readonly #pausedAt = new Map<number, Millis>();

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

  /** @param endsAt when it ends unless it pauses @returns the number of the new run */
  begin(place: number, now: Millis, endsAt: Millis): number {
    this.#startedAt[place] = now;
    this.#endsAt[place] = endsAt;
    if (this.#killed.size > 0) this.#killed.delete(place);
    return ++this.#runs[place]!;
  }

  /**
   * @returns the new number under which the killed run ends; NO_RUN if there is none, or if it was killed before,
   * because the first reason counts
   */
  kill(place: number, reason: KillReason, now: Millis): number {
    if (Number.isNaN(this.#startedAt[place]) || this.#killed.has(place)) return NO_RUN;
    this.#endPause(place, now);
    this.#killed.set(place, reason);
    return ++this.#runs[place]!;
  }

  /** Pauses the run, which keeps its remaining time. A killed run ends all the same. */
  pause(place: number, now: Millis): void {
    if (Number.isNaN(this.#startedAt[place]) || this.#killed.has(place) || this.#pausedAt.has(place)) return;
    this.#pausedAt.set(place, now);
    this.#runs[place]!++;
  }

  /** @returns the number under which the run ends, and when; undefined if it was not paused */
  resume(place: number, now: Millis): { readonly run: number; readonly at: Millis } | undefined {
    if (!this.#endPause(place, now)) return undefined;
    return { run: this.#runs[place]!, at: this.#endsAt[place]! };
  }

  /** Moves the run by its pause. */
  #endPause(place: number, now: Millis): boolean {
    if (this.#pausedAt.size === 0) return false;
    const pausedAt = this.#pausedAt.get(place);
    if (pausedAt === undefined) return false;
    this.#pausedAt.delete(place);
    this.#startedAt[place]! += now - pausedAt;
    this.#endsAt[place]! += now - pausedAt;
    return true;
  }

  /** Removes a run without an end. */
  remove(place: number): void {
    this.#runs[place]!++;
    this.#startedAt[place] = Number.NaN;
    this.#killed.delete(place);
    this.#pausedAt.delete(place);
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
    this.#endsAt = grown(this.#endsAt, this.#size);
  }
}

/** This is not the number of any run. */
export const NO_RUN = 0;

const INITIAL = 64;
