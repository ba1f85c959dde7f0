import { type Counters, counters } from './cluster-view.js';
import { bytes, count, flag, list, number, optional, record } from './fields/fields.js';
import { name } from './fields/records.js';
import type { Millis } from './ids.js';
import { type ClusterShares, shareHolders, sharesByUser } from './job/shares.js';
import { LIMITS } from './limits.js';

/** Interval (ms) at which central records the state of the cluster, and for how long it keeps the points. */
export const HISTORY_STEP_MS: Millis = 120_000;
export const HISTORY_KEPT_MS: Millis = 24 * 3_600_000;
export const HISTORY_POINTS_PER_PAGE = 60;

/** Load of a worker in a point: whole percents of its CPUs that its tasks request, or that it was lost. */
export const LOAD_LOST = 254;

/** Rates and times of one class between two points. Absent: unknown. */
const classPoint = record({
  tasksPerSecond: optional(number),
  delaySeconds: optional(record({ p50: number, p99: number })),
  runSeconds: optional(record({ p50: number, p90: number })),
});
export type ClassRates = NonNullable<(typeof classPoint)['infer']>;

export const UNKNOWN_RATES: ClassRates = {
  tasksPerSecond: undefined,
  delaySeconds: undefined,
  runSeconds: undefined,
};

const historyPoint = record({
  /** Wall clock. Seconds since 1970 */
  at: count,
  /** Length of the period before it that the rates cover. */
  seconds: number,
  /** Waiting tasks. */
  waiting: count,
  /** Running tasks, and CPUs of all workers. */
  busy: count,
  slots: count,
  /** Amounts in use by resource and user, and in the cluster by resource. */
  use: counters,
  capacity: counters,
  short: classPoint,
  long: classPoint,
  /** The list of workers to which `loads` belongs, with a byte per worker. */
  roster: count,
  loads: bytes(LIMITS.membersMax),
});
export type HistoryPoint = NonNullable<(typeof historyPoint)['infer']>;

export const historyPage = record({
  /** Oldest first. */
  points: list(historyPoint, HISTORY_POINTS_PER_PAGE),
  /** The lists of workers of these points. */
  rosters: list(
    // A lost worker has 0 slots.
    record({ id: count, workers: list(record({ name, slots: count }), LIMITS.membersMax) }),
    HISTORY_POINTS_PER_PAGE,
  ),
  atEnd: flag,
});
export type HistoryPage = NonNullable<(typeof historyPage)['infer']>;
export type HistoryRoster = HistoryPage['rosters'][number];

type Class = 'short' | 'long';

/** Computes the rates of all schedulers from their counters, as differences between polls. */
export class CounterRates {
  readonly #last = new Map<string, Counters>();
  #lastAt: Millis | undefined;

  /**
   * @param at wall clock, ms since 1970
   * @param schedulers counters by name; changes of a missing scheduler are added when it answers again
   * @returns undefined for the first poll, which has no predecessor, and after the clock was set back
   */
  add(
    at: Millis,
    schedulers: Readonly<Record<string, Counters>>,
  ): ({ readonly seconds: number } & Readonly<Record<Class, ClassRates>>) | undefined {
    const news = Object.entries(schedulers).flatMap(([scheduler, now]) => {
      const before = this.#last.get(scheduler);
      this.#last.set(scheduler, now);
      return before === undefined ? [] : [difference(now, before)];
    });
    const lastAt = this.#lastAt;
    this.#lastAt = at;
    if (lastAt === undefined || at <= lastAt) return undefined;
    const seconds = (at - lastAt) / 1_000;
    const all = sumCounters(news);
    return { seconds, short: ratesOf(all, 'short', seconds), long: ratesOf(all, 'long', seconds) };
  }
}

/** Maximum number of users per resource in a point; the others are added up. */
const USERS_MAX = 10;
/** Name of all other users together. */
const OTHERS = '…';
const RESOURCES = ['cpu', 'gpu', 'memory'] as const;

type AmountsByUser = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Returns what each user has of the resources, and their capacity. */
export function useOf(shares: ClusterShares): {
  use: AmountsByUser;
  capacity: Readonly<Record<string, number>>;
} {
  // Under policies without shared CPUs, a task takes a slot.
  const amount = (all: Readonly<Record<string, number>>, resource: string): number =>
    all[resource] ?? (resource === 'cpu' ? (all.slots ?? 0) : 0);
  const names = RESOURCES.filter((resource) => amount(shares.capacity, resource) > 0);
  const users = sharesByUser(shareHolders(shares, []));
  const use = names.map((resource): [string, Record<string, number>] => {
    const rows = users
      .map(({ user, has }): [string, number] => [user, amount(has, resource)])
      .filter(([, value]) => value > 0)
      .sort(([, one], [, other]) => other - one);
    const rest = rows.slice(USERS_MAX).reduce((sum, [, value]) => sum + value, 0);
    return [
      resource,
      Object.fromEntries([...rows.slice(0, USERS_MAX), ...(rest > 0 ? [[OTHERS, rest] as const] : [])]),
    ];
  });
  return {
    use: Object.fromEntries(use),
    capacity: Object.fromEntries(names.map((resource) => [resource, amount(shares.capacity, resource)])),
  };
}

/** Adds equally named counters, also within groups. */
export function sumCounters(all: readonly Counters[]): Counters {
  const sum: Record<string, number | Counters> = {};
  for (const each of all) {
    for (const [counter, value] of Object.entries(each)) {
      const before = sum[counter];
      if (typeof value === 'number') sum[counter] = (typeof before === 'number' ? before : 0) + value;
      else sum[counter] = sumCounters(typeof before === 'object' ? [before, value] : [value]);
    }
  }
  return sum;
}

/** Returns the counters in a group; empty if the group is missing. */
export function counterGroup(all: Counters, group: string): Counters {
  const found = all[group];
  return typeof found === 'object' ? found : {};
}

/** Returns the changes of counters since the previous poll; for a restarted scheduler, all counts. */
function difference(now: Counters, before: Counters): Counters {
  return Object.fromEntries(
    Object.entries(now).map(([counter, value]) => {
      const was = before[counter];
      if (typeof value !== 'number') return [counter, difference(value, typeof was === 'object' ? was : {})];
      return [counter, typeof was === 'number' && was <= value ? value - was : value];
    }),
  );
}

function ratesOf(all: Counters, kind: Class, seconds: number): ClassRates {
  const group = (of: string) => counterGroup(counterGroup(all, of), kind) as Readonly<Record<string, number>>;
  return {
    tasksPerSecond: (group('tasksEnded').completed ?? 0) / seconds,
    delaySeconds: spread(group('queueingMs'), (of) => ({ p50: of(0.5), p99: of(0.99) })),
    runSeconds: spread(group('jobMs'), (of) => ({ p50: of(0.5), p90: of(0.9) })),
  };
}

function spread<T>(
  buckets: Readonly<Record<string, number>>,
  build: (of: (q: number) => number) => T,
): T | undefined {
  const total = Object.values(buckets).reduce((sum, value) => sum + value, 0);
  return total === 0 ? undefined : build((q) => quantile(buckets, total, q) / 1_000);
}

/**
 * Returns the nearest-rank quantile, if values in a bucket are distributed uniformly. The error is at most
 * 20%.
 *
 * @param buckets counts by `LOW-HIGH` in ms; `HIGH` is `more` above all bounds
 */
function quantile(buckets: Readonly<Record<string, number>>, total: number, q: number): Millis {
  const sorted = Object.entries(buckets)
    .map(([range, counted]) => ({ bounds: range.split('-').map(Number) as [number, number], counted }))
    .sort((a, b) => a.bounds[0] - b.bounds[0]);
  let left = q * total;
  for (const {
    bounds: [low, high],
    counted,
  } of sorted) {
    if (counted > 0 && counted >= left)
      return Number.isNaN(high) ? low : low + ((high - low) * left) / counted;
    left -= counted;
  }
  return 0;
}
