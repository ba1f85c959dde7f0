import {
  addUsage,
  dayText,
  groupedUsage,
  latestBooks,
  NO_USAGE,
  type UsageFilter,
  type UsageGroup,
  type UsageRow,
  type UsageSums,
  usageRowJson,
  usageSumsJson,
} from '@goshawk/core';
import type { CallOptions } from './options.js';
import { askSchedulers, type Session } from './session.js';

/** Days are counted from 1970-01-01 (UTC), and both are included. */
export interface UsageOptions extends CallOptions, UsageFilter {
  /** Default: by user. */
  readonly by?: readonly UsageGroup[] | undefined;
}

/** Usage of the attempts that have ended. Amounts are the requested resources × the run time. */
export interface Usage {
  readonly by: readonly UsageGroup[];
  readonly since: number | undefined;
  readonly until: number | undefined;
  /** Sorted by day, if grouped by day, and then by CPU usage, largest first. */
  readonly rows: readonly UsageRow[];
  readonly totals: UsageSums;
  /** Schedulers that did not answer, and whose jobs are missing. */
  readonly silent: readonly string[];
}

/** Sums the usage by the jobs of all schedulers. */
export async function readUsage(session: Session, options: UsageOptions): Promise<Usage> {
  const { by = ['user'], since, until, user, project, name } = options;
  const { answers, silent } = await askSchedulers(
    session,
    {
      what: 'for usage',
      build: (request) => ({ type: 'readUsage', request, by, since, until, user, project, name }),
    },
    options,
  );
  const all = latestBooks(answers.flat()).flatMap(({ rows }) => rows);
  const rows = groupedUsage(all, by);
  const totals = { ...NO_USAGE };
  for (const row of rows) addUsage(totals, row);
  return { by, since, until, rows, totals, silent };
}

/** A part of the rows, for programs. Unknown values are null. */
export function usageJson(
  { by, since, until, rows, totals, silent }: Usage,
  { from, limit }: { readonly from: number; readonly limit: number },
) {
  const next = from + limit < rows.length ? from + limit : null;
  return {
    schema: 'goshawk.usage/1' as const,
    by,
    since: since === undefined ? null : dayText(since),
    until: until === undefined ? null : dayText(until),
    usage: rows.slice(from, from + limit).map((row) => usageRowJson(row, by)),
    totals: usageSumsJson(totals),
    total: rows.length,
    truncated: next !== null,
    next,
    silent,
  };
}
