import type { Millis } from '@goshawk/core';
import type { Amounts } from '@goshawk/policies';
import type { Plan, Start } from './plan.js';

/** Rounding tolerance for sums of times. */
const ROUNDING_MS = 1e-3;

/** A plan that a job follows, in clock time. */
export class KeptPlan {
  /** The job's share when the plan was made. */
  readonly share: Amounts;
  /** The job's share when the plan was made or last preferred to a newer one. */
  checkedShare: Amounts;
  readonly endAt: Millis;
  /** Whether the job yields. A job that does not yield starts everything it can. */
  isAltruistic = true;
  drawnAt = 0;
  /** Number of planned tasks. */
  readonly unstarted: number;
  readonly #madeAt: Millis;
  readonly #starts: readonly (readonly Start[])[];
  /** Index of the next planned start of each stage. */
  readonly #next: Int32Array;
  /** Number of tasks that have used the next planned start, by stage. */
  readonly #taken: Int32Array;
  /** Tasks that the job would still start now if it yielded nothing, by stage. */
  #greedy: Int32Array;

  constructor(plan: Plan, share: Amounts, now: Millis) {
    this.share = share;
    this.checkedShare = share;
    this.endAt = now + plan.endMs;
    this.#madeAt = now;
    this.#starts = plan.starts;
    this.unstarted = plan.starts.reduce(
      (sum, starts) => starts.reduce((ofStage, { count }) => ofStage + count, sum),
      0,
    );
    this.#greedy = plan.greedyNow;
    this.#next = new Int32Array(plan.starts.length);
    this.#taken = new Int32Array(plan.starts.length);
  }

  /**
   * Assigns the next planned start to a task that has started.
   *
   * @returns whether it started as planned
   */
  take(stage: number, now: Millis): boolean {
    if (this.#greedy[stage]! > 0) this.#greedy[stage]!--;
    const place = this.#starts[stage]?.[this.#next[stage]!];
    if (place === undefined) return false;
    this.#taken[stage]!++;
    if (this.#taken[stage]! === place.count) {
      this.#next[stage]!++;
      this.#taken[stage] = 0;
    }
    return Math.abs(this.#madeAt + place.atMs - now) <= ROUNDING_MS;
  }

  /** Keeps this plan instead of a newer one that ends later. Only `greedyNow` of the newer plan is used. */
  retain(plan: Plan, share: Amounts): void {
    this.#greedy = plan.greedyNow;
    this.checkedShare = share;
  }

  /** Copies the random draw of the previous plan. */
  inherit({ isAltruistic, drawnAt }: KeptPlan): void {
    this.isAltruistic = isAltruistic;
    this.drawnAt = drawnAt;
  }

  /**
   * Number of tasks of the stage to start now: those due, and those due within the margin that fit the share
   * now.
   */
  mustStart(stage: number, now: Millis, holdMs: Millis): number {
    if (!this.isAltruistic) return this.#greedy[stage] ?? 0;
    const must = this.#plannedUntil(stage, now);
    if (holdMs === 0) return must;
    return Math.max(must, Math.min(this.#greedy[stage] ?? 0, this.#plannedUntil(stage, now + holdMs)));
  }

  /** Planned start of the next task of the stage; Infinity: none is left. */
  firstStart(stage: number): Millis {
    const next = this.#starts[stage]?.[this.#next[stage]!];
    return next === undefined ? Number.POSITIVE_INFINITY : this.#madeAt + next.atMs;
  }

  /** The earliest planned start after now; Infinity: none. */
  nextStart(now: Millis): Millis {
    let next = Number.POSITIVE_INFINITY;
    this.#starts.forEach((starts, stage) => {
      for (let i = this.#next[stage]!; i < starts.length; i++) {
        const at = this.#madeAt + starts[i]!.atMs;
        if (at <= now + ROUNDING_MS) continue;
        next = Math.min(next, at);
        break;
      }
    });
    return next;
  }

  /** Whether the plan has a start for each unstarted task. */
  covers(unstarted: readonly number[]): boolean {
    return unstarted.every((tasks, stage) => this.#plannedUntil(stage, Number.POSITIVE_INFINITY) >= tasks);
  }

  #plannedUntil(stage: number, time: Millis): number {
    const starts = this.#starts[stage] ?? [];
    let count = -(this.#taken[stage] ?? 0);
    let i = this.#next[stage] ?? 0;
    for (; i < starts.length && this.#madeAt + starts[i]!.atMs <= time + ROUNDING_MS; i++)
      count += starts[i]!.count;
    return Math.max(0, count);
  }
}
