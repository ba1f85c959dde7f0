import { type Counters, sumCounters } from '@goshawk/client';
import { type ClusterShares, type Millis, shareHolders, sharesByUser } from '@goshawk/core';
import type { z } from 'zod';
import type { history } from './schemas.js';

/** Retention of points (ms). */
const HISTORY_MS = 3_600_000;
/** Interval between points (ms). */
export const POINT_MS = 10_000;

export type Point = z.infer<typeof history>['points'][number];
export type ClassPoint = Point['short'];

type Class = 'short' | 'long';

/** The last hour of the schedulers' counters, as differences between polls. */
export class History {
  readonly #points: Point[] = [];
  readonly #last = new Map<string, Counters>();
  #lastAt: Millis | undefined;

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
    standing: Pick<Point, 'waiting' | 'busy' | 'slots' | 'use' | 'capacity'>,
  ): Point | undefined {
    const news = Object.entries(schedulers).flatMap(([name, now]) => {
      const before = this.#last.get(name);
      this.#last.set(name, now);
      return before === undefined ? [] : [difference(now, before)];
    });
    const lastAt = this.#lastAt;
    this.#lastAt = at;
    if (lastAt === undefined || at <= lastAt) return undefined;
    const seconds = (at - lastAt) / 1_000;
    const of = (kind: Class) => classPoint(news, kind, seconds);
    // Remove points that lie in the future after the clock was set back.
    while (this.#points.length > 0 && this.#points.at(-1)!.at * 1_000 > at) this.#points.pop();
    const point = { at: Math.round(at / 1_000), ...standing, short: of('short'), long: of('long') };
    this.#points.push(point);
    while (this.#points[0]!.at * 1_000 < at - HISTORY_MS) this.#points.shift();
    return point;
  }
}

/** Maximum number of users per resource in a point; the others are added up. */
const USERS_MAX = 10;
/** Name of all other users together. */
const OTHERS = '…';
const RESOURCES = ['cpu', 'gpu', 'memory'] as const;

/** Returns what each user has of the resources, and their capacity; null: unknown. */
export function useOf(shares: ClusterShares | undefined): Pick<Point, 'use' | 'capacity'> {
  if (shares === undefined) return { use: null, capacity: null };
  // Under policies without shared CPUs, a task takes a slot.
  const amount = (all: Readonly<Record<string, number>>, name: string): number =>
    all[name] ?? (name === 'cpu' ? (all.slots ?? 0) : 0);
  const names = RESOURCES.filter((name) => amount(shares.capacity, name) > 0);
  const users = sharesByUser(shareHolders(shares, []));
  const use = names.map((name): [string, Record<string, number>] => {
    const rows = users
      .map(({ user, has }): [string, number] => [user, amount(has, name)])
      .filter(([, value]) => value > 0)
      .sort(([, one], [, other]) => other - one);
    const rest = rows.slice(USERS_MAX).reduce((sum, [, value]) => sum + value, 0);
    return [
      name,
      Object.fromEntries([...rows.slice(0, USERS_MAX), ...(rest > 0 ? [[OTHERS, rest] as const] : [])]),
    ];
  });
  return {
    use: Object.fromEntries(use),
    capacity: Object.fromEntries(names.map((name) => [name, amount(shares.capacity, name)])),
  };
}

/** Returns the changes of counters since the previous poll; for a restarted scheduler, all counts. */
function difference(now: Counters, before: Counters): Counters {
  return Object.fromEntries(
    Object.entries(now).map(([name, count]) => {
      const was = before[name];
      if (typeof count !== 'number') return [name, difference(count, typeof was === 'object' ? was : {})];
      return [name, typeof was === 'number' && was <= count ? count - was : count];
    }),
  );
}

function classPoint(news: readonly Counters[], kind: Class, seconds: number): ClassPoint {
  const all = sumCounters(news);
  const group = (name: string) => groupOf(groupOf(all, name), kind) as Readonly<Record<string, number>>;
  return {
    tasksPerSecond: (group('tasksEnded').completed ?? 0) / seconds,
    delaySeconds: spread(group('queueingMs'), (of) => ({ p50: of(0.5), p99: of(0.99) })),
    runSeconds: spread(group('jobMs'), (of) => ({ p50: of(0.5), p90: of(0.9) })),
  };
}

/** Returns the counters in a group; empty if the group is missing. */
export function groupOf(counters: Counters, name: string): Counters {
  const group = counters[name];
  return typeof group === 'object' ? group : {};
}

function spread<T>(
  buckets: Readonly<Record<string, number>>,
  build: (of: (q: number) => number) => T,
): T | null {
  const total = Object.values(buckets).reduce((sum, count) => sum + count, 0);
  return total === 0 ? null : build((q) => quantile(buckets, total, q) / 1_000);
}

/**
 * Returns the nearest-rank quantile, if values in a bucket are distributed uniformly. The error is at most
 * 20%.
 *
 * @param buckets counts by `LOW-HIGH` in ms; `HIGH` is `more` above all bounds
 */
function quantile(buckets: Readonly<Record<string, number>>, total: number, q: number): Millis {
  const sorted = Object.entries(buckets)
    .map(([name, count]) => ({ bounds: name.split('-').map(Number) as [number, number], count }))
    .sort((a, b) => a.bounds[0] - b.bounds[0]);
  let left = q * total;
  for (const {
    bounds: [low, high],
    count,
  } of sorted) {
    if (count > 0 && count >= left) return Number.isNaN(high) ? low : low + ((high - low) * left) / count;
    left -= count;
  }
  return 0;
}
