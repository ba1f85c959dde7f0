import type { Cluster } from '@goshawk/client';
import {
  type ClassRates,
  type ClusterShares,
  CounterRates,
  type Counters,
  HISTORY_KEPT_MS,
  HISTORY_STEP_MS,
  type HistoryPoint,
  type HistoryRoster,
  LOAD_LOST,
  type Millis,
  useOf,
} from '@goshawk/core';
import type { z } from 'zod';
import type { history } from './schemas.js';

/** Retention of points (ms). */
const HISTORY_MS = 3_600_000;
/** Interval between points (ms). */
export const POINT_MS = 10_000;

export type Point = z.infer<typeof history>['points'][number];
export type ClassPoint = Point['short'];

/** The last hour of the schedulers' counters, as differences between polls. */
export class History {
  readonly #points: Point[] = [];
  readonly #rates = new CounterRates();

  get points(): readonly Point[] {
    return this.#points;
  }

  /**
   * @param at wall clock, ms since 1970
   * @param schedulers counters by name; changes of a missing scheduler are added when it answers again
   * @returns the new point; undefined for the first poll, which has no predecessor
   */
  add(
    at: Millis,
    schedulers: Readonly<Record<string, Counters>>,
    levels: Pick<Point, 'waiting' | 'busy' | 'slots'>,
    shares?: ClusterShares,
  ): Point | undefined {
    const rates = this.#rates.add(at, schedulers);
    if (rates === undefined) return undefined;
    const { use, capacity } = shares === undefined ? { use: null, capacity: null } : useOf(shares);
    // Remove points that lie in the future after the clock was set back.
    while (this.#points.length > 0 && this.#points.at(-1)!.at * 1_000 > at) this.#points.pop();
    const point = {
      ...{ at: Math.round(at / 1_000), seconds: rates.seconds, ...levels, use, capacity },
      ...{ short: classPoint(rates.short), long: classPoint(rates.long) },
    };
    this.#points.push(point);
    this.#dropOld(at);
    return point;
  }

  /**
   * Adds central's points of the last hour for times at which this process did not poll.
   *
   * @returns the added points
   */
  fill(others: readonly Point[], now: Millis): Point[] {
    const added = others.filter(
      ({ at, seconds }) =>
        at * 1_000 >= now - HISTORY_MS && !this.#points.some((own) => own.at > at - seconds && own.at <= at),
    );
    this.#points.push(...added);
    this.#points.sort((one, other) => one.at - other.at);
    return added;
  }

  #dropOld(now: Millis): void {
    while (this.#points[0]!.at * 1_000 < now - HISTORY_MS) this.#points.shift();
  }
}

/** A copy of the history that central keeps: the last day, a point every two minutes. */
export class Day {
  #points: HistoryPoint[] = [];
  readonly #rosters = new Map<number, HistoryRoster>();
  readonly #indices = new WeakMap<HistoryRoster, ReadonlyMap<string, number>>();
  /** Monotonic time of the last request; central has a new point every two minutes. */
  #askedAt = Number.NEGATIVE_INFINITY;

  get isDue(): boolean {
    return performance.now() - this.#askedAt >= HISTORY_STEP_MS / 2;
  }

  /** Reads the points that central has added; if it does not answer, the next call does. */
  async refresh(cluster: Cluster, now: Millis, signal: AbortSignal): Promise<void> {
    const before = this.#points.at(-1)?.at ?? 0;
    // After the clock of central was set back, its points are older than the newest one here.
    const after = before * 1_000 > now ? 0 : before;
    const { points, rosters } = await cluster.history({ after, signal });
    this.#askedAt = performance.now();
    const kept = after === 0 ? [] : this.#points;
    const oldest = (now - HISTORY_KEPT_MS) / 1_000;
    this.#points = [...kept, ...points].filter(({ at }) => at >= oldest);
    for (const roster of rosters) this.#rosters.set(roster.id, roster);
    const used = new Set(this.#points.map(({ roster }) => roster));
    for (const id of this.#rosters.keys()) if (!used.has(id)) this.#rosters.delete(id);
  }

  /** Returns the points after a time. Seconds since 1970 */
  points(after = 0): Point[] {
    return this.#points.filter(({ at }) => at > after).map(pointOf);
  }

  /** Names of the workers in the window, with their CPUs. Wall clock, ms */
  workersIn(from: Millis, to: Millis): ReadonlyMap<string, number> {
    const all = new Map<string, number>();
    const rosters = new Set(this.#within(from, to).map(({ roster }) => this.#rosters.get(roster)));
    for (const roster of rosters)
      for (const { name, slots } of roster?.workers ?? []) all.set(name, Math.max(slots, all.get(name) ?? 0));
    return all;
  }

  /**
   * Returns the load of a worker in each step of the window, in percent of its CPUs. null: unknown; −1: the worker was lost.
   *
   * @param from begins a step. Wall clock, ms
   */
  loadsOf(worker: string, from: Millis, steps: number): (number | null)[] {
    const loads = new Array<number | null>(steps).fill(null);
    for (const { at, roster, loads: all } of this.#within(from, from + steps * HISTORY_STEP_MS)) {
      const list = this.#rosters.get(roster);
      const index = list && this.#indexOf(list).get(worker);
      const load = index === undefined ? undefined : all[index];
      // A point describes the time around it.
      const step = Math.min(steps - 1, Math.floor((at * 1_000 - from) / HISTORY_STEP_MS));
      if (load !== undefined) loads[step] = load === LOAD_LOST ? -1 : load;
    }
    return loads;
  }

  #within(from: Millis, to: Millis): HistoryPoint[] {
    return this.#points.filter(({ at }) => at * 1_000 >= from && at * 1_000 < to);
  }

  #indexOf(roster: HistoryRoster): ReadonlyMap<string, number> {
    let index = this.#indices.get(roster);
    if (index === undefined) {
      index = new Map(roster.workers.map(({ name }, at) => [name, at]));
      this.#indices.set(roster, index);
    }
    return index;
  }
}

function pointOf({ at, seconds, waiting, busy, slots, use, capacity, short, long }: HistoryPoint): Point {
  return {
    ...{ at, seconds, waiting, busy, slots },
    use: use as NonNullable<Point['use']>,
    capacity: capacity as NonNullable<Point['capacity']>,
    ...{ short: classPoint(short), long: classPoint(long) },
  };
}

/** In JSON, an unknown time is null. */
function classPoint({ tasksPerSecond, delaySeconds, runSeconds }: ClassRates): ClassPoint {
  return {
    tasksPerSecond: tasksPerSecond ?? null,
    delaySeconds: delaySeconds ?? null,
    runSeconds: runSeconds ?? null,
  };
}
