import { z } from 'zod';
import { InputError, quoted } from '../errors.js';
import {
  choice,
  count,
  countTo,
  doc,
  type Field,
  list,
  number,
  optional,
  signed,
  text,
  view,
} from '../fields/fields.js';
import { name } from '../fields/records.js';
import type { Millis } from '../ids.js';
import * as json from '../output.js';
import { parseDuration } from '../text/durations.js';

/** Groups by which usage can be reported. */
export const USAGE_GROUPS = ['user', 'project', 'name', 'day'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

/** Maximum number of rows in one answer, divided among its books. The rest of each book is one more row. */
export const USAGE_ROWS_MAX = 10_000;
/** Maximum number of usage books in one answer: the journal’s own, and one per journal whose usage it keeps. */
export const USAGE_BOOKS_MAX = 1_000;

export const DAY_MS = 86_400_000;

const key = {
  /** Days since 1970-01-01, UTC. */
  day: optional(countTo(100_000_000)),
  user: optional(name),
  project: optional(name),
  name: optional(name),
};

/** Sums over attempts that have ended. Amounts are the requested resources × the run time. */
const sums = {
  attempts: count,
  runMs: number,
  cpuMs: number,
  /** CPU time that the kernel measured. */
  cpuUsedMs: number,
  /** Run time of attempts whose CPU time was not measured. */
  cpuUnknownMs: number,
  /** GiB × ms, of attempts that requested memory. */
  memoryMs: number,
  /** Run time of attempts that requested none: their memory is unknown. */
  memoryUnknownMs: number,
  gpuMs: number,
  completed: count,
  failed: count,
  cancelled: count,
  preempted: count,
  lost: count,
  /** Tasks with a known wait before their first attempt, and the sum of these waits. */
  waits: count,
  waitMs: number,
};

const usageSumsView = view(sums);
export const usageRow = view({ ...key, ...sums });
export type UsageRow = NonNullable<(typeof usageRow)['infer']>;
type Sum = keyof typeof sums;
export type UsageSums = Readonly<Record<Sum, number>>;

const SUMS = Object.keys(sums) as Sum[];
/** A row in a journal. Sums of corrections may be negative. */
export const storedUsageRow: Field<UsageRow> = view({
  ...key,
  ...(Object.fromEntries(SUMS.map((sum) => [sum, signed])) as Record<Sum, Field<number>>),
});

export const NO_USAGE: UsageSums = Object.freeze(
  Object.fromEntries(SUMS.map((sum) => [sum, 0])) as Record<Sum, number>,
);

const usageBook = view({
  /** Tag of the journal, with which the ids of its jobs begin. */
  tag: text(32),
  /** Epoch of the journal. Of several books with the same tag, only the one with the highest epoch counts. */
  epoch: count,
  rows: list(usageRow, USAGE_ROWS_MAX + 1),
});
/** The usage of the jobs of one journal. */
export type UsageBook = NonNullable<(typeof usageBook)['infer']>;

export const usageBooks = list(usageBook, USAGE_BOOKS_MAX);

/** Fields of a request for usage; days are inclusive. */
export const usageQuery = {
  by: list(choice(...USAGE_GROUPS), USAGE_GROUPS.length),
  since: optional(count),
  until: optional(count),
  user: optional(name),
  project: optional(name),
  name: optional(name),
};

export interface UsageFilter {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly user?: string | undefined;
  readonly project?: string | undefined;
  readonly name?: string | undefined;
}

/** Whether the filter selects the row. */
export function isInUsage(row: UsageRow, filter: UsageFilter): boolean {
  const { since = 0, until = Number.POSITIVE_INFINITY } = filter;
  const { day = since } = row;
  const agrees = (group: 'user' | 'project' | 'name'): boolean =>
    filter[group] === undefined || filter[group] === row[group];
  return day >= since && day <= until && agrees('user') && agrees('project') && agrees('name');
}

/** Adds sums in place. */
export function addUsage(to: { -readonly [S in keyof UsageSums]: number }, from: UsageSums): void {
  for (const each of SUMS) to[each] += from[each];
}

/** Returns one row per group, sorted by day, then by CPU time, most first. Rows have the fields of `by` and sums. */
export function groupedUsage(rows: Iterable<UsageRow>, by: readonly UsageGroup[]): UsageRow[] {
  const groups = new Map<string, UsageRow>();
  for (const row of rows) {
    const id = JSON.stringify(by.map((group) => row[group] ?? null));
    const names = by.filter((group) => row[group] !== undefined).map((group) => [group, row[group]]);
    const sum = groups.get(id) ?? { ...Object.fromEntries(names), ...NO_USAGE };
    addUsage(sum, row);
    groups.set(id, sum);
  }
  return [...groups.values()].sort(
    (one, other) =>
      (one.day ?? 0) - (other.day ?? 0) || other.cpuMs - one.cpuMs || other.attempts - one.attempts,
  );
}

/** Keeps the book with the highest epoch for each tag, so that a takeover counts nothing twice. */
export function latestBooks(books: Iterable<UsageBook>): UsageBook[] {
  const latest = new Map<string, UsageBook>();
  for (const book of books) {
    const known = latest.get(book.tag);
    if (known === undefined || known.epoch < book.epoch) latest.set(book.tag, book);
  }
  return [...latest.values()];
}

/** The last day that a date can express. */
const DAY_MAX = 100_000_000;

/** @param at wall clock, ms since 1970 @returns days since 1970, UTC; an absurd time counts as the first or last possible day */
export function dayOf(at: Millis): number {
  const day = Math.floor(at / DAY_MS);
  return day >= 0 ? Math.min(day, DAY_MAX) : 0;
}

/** Formats days since 1970 as `2026-11-26`. */
export function dayText(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

/**
 * Parses a date such as `2026-11-26` (UTC), or an age such as `7d`. Returns days since 1970.
 *
 * @param now wall clock, ms since 1970
 * @throws InputError
 */
export function parseDay(given: string, what: string, now: Millis): number {
  if (/^\d{4}-\d{2}-\d{2}$/.test(given)) {
    const at = Date.parse(`${given}T00:00:00Z`);
    if (at >= 0 && dayText(dayOf(at)) === given) return dayOf(at);
  } else if (/^\d[\d.\s]*(?:us|ms|min|s|m|h|d)/.test(given)) return dayOf(now - parseDuration(given, what));
  throw new InputError(
    'bad-day',
    `${what}: ${quoted(given)} is not a day`,
    'write a date such as 2026-11-26 (UTC), or an age such as 7d',
  );
}

const HOUR_MS = 3_600_000;

/**
 * Returns a sum in hours; undefined if it is known of no attempt.
 *
 * @param unknownMs run time of the attempts of which it is unknown
 */
export function hoursKnown(sumMs: number, unknownMs: Millis): number | undefined {
  return sumMs === 0 && unknownMs > 0 ? undefined : sumMs / HOUR_MS;
}

export const usageSumsTable = json.table<UsageSums>()((of) => ({
  ...json.same(usageSumsView, 'attempts', 'completed', 'failed', 'cancelled', 'preempted', 'lost'),
  runHours: of(json.number, ({ runMs }) => runMs / HOUR_MS),
  cpuHours: of(json.number, ({ cpuMs }) => cpuMs / HOUR_MS),
  cpuUsedHours: doc(
    'CPU time that the kernel measured; null: of no attempt.',
    of(json.orNull(json.number), ({ cpuUsedMs, cpuUnknownMs }) => hoursKnown(cpuUsedMs, cpuUnknownMs)),
  ),
  cpuUnknownHours: doc(
    'Run time of the attempts whose CPU time was not measured.',
    of(json.number, ({ cpuUnknownMs }) => cpuUnknownMs / HOUR_MS),
  ),
  memoryGibHours: doc(
    'Sum over the attempts that requested memory; null: no attempt did.',
    of(json.orNull(json.number), ({ memoryMs, memoryUnknownMs }) => hoursKnown(memoryMs, memoryUnknownMs)),
  ),
  memoryUnknownHours: doc(
    'Run time of the attempts that did not request memory.',
    of(json.number, ({ memoryUnknownMs }) => memoryUnknownMs / HOUR_MS),
  ),
  gpuHours: of(json.number, ({ gpuMs }) => gpuMs / HOUR_MS),
  waits: doc('Number of tasks with a known wait before the first attempt.', json.count),
  meanWaitSeconds: doc(
    'Mean of these waits.',
    of(json.orNull(json.amount), ({ waits, waitMs }) => (waits === 0 ? undefined : waitMs / waits / 1_000)),
  ),
}));

/** Days since 1970, UTC, as a date. */
export const usageDay: json.Kind<string, number> = { schema: () => z.iso.date(), json: dayText };

export interface GroupedRow {
  readonly row: UsageRow;
  readonly by: readonly UsageGroup[];
}

/** A row with the fields of its groups only; unknown values are null. */
export const usageRowTable = json.table<GroupedRow>()((of) => {
  const group = (name: 'user' | 'project' | 'name') =>
    of(json.omitted(json.orNull(json.text)), ({ row, by }) =>
      by.includes(name) ? (row[name] ?? null) : undefined,
    );
  return {
    day: of(json.omitted(json.orNull(usageDay)), ({ row, by }) =>
      by.includes('day') ? (row.day ?? null) : undefined,
    ),
    user: group('user'),
    project: group('project'),
    name: group('name'),
    ...of.within(usageSumsTable, ({ row }) => row),
  };
});

/** Returns sums as in JSON and CSV output; unknown values are null. */
export function usageSumsJson(row: UsageSums): json.JsonOf<typeof usageSumsTable> {
  return usageSumsTable.json(row, undefined);
}
