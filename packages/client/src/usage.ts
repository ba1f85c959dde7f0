import {
  addUsage,
  usageDay as day,
  doc,
  groupedUsage,
  json,
  latestBooks,
  NO_USAGE,
  USAGE_GROUPS,
  type UsageFilter,
  type UsageGroup,
  type UsageRow,
  type UsageSums,
  usageRowTable,
  usageSumsTable,
} from '@goshawk/core';
import type { CallOptions } from './options.js';
import { askSchedulers, type Session } from './session.js';

const { choice, count, flag, list, literal, orNull, table, text } = json;

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

interface UsagePart {
  readonly usage: Usage;
  readonly from: number;
  readonly limit: number;
}

const nextOf = ({ usage, from, limit }: UsagePart): number | undefined =>
  from + limit < usage.rows.length ? from + limit : undefined;

/** The fields of `goshawk.usage/1`, from which its JSON and its schema are derived. */
export const usageTable = table<UsagePart>()((of) => ({
  schema: of(literal('goshawk.usage/1'), () => 'goshawk.usage/1' as const),
  by: of(list(choice(...USAGE_GROUPS)), ({ usage }) => usage.by),
  since: doc(
    'First and last day, UTC.',
    of(orNull(day), ({ usage }) => usage.since),
  ),
  until: of(orNull(day), ({ usage }) => usage.until),
  usage: doc(
    'Only the fields named in `by` are present; null: unknown or unset.',
    of(list(usageRowTable), ({ usage, from, limit }) =>
      usage.rows.slice(from, from + limit).map((row) => ({ row, by: usage.by })),
    ),
  ),
  totals: of(usageSumsTable, ({ usage }) => usage.totals),
  total: of(count, ({ usage }) => usage.rows.length),
  truncated: of(flag, (part) => nextOf(part) !== undefined),
  next: of(orNull(count), nextOf),
  silent: doc(
    'Schedulers that did not answer.',
    of(list(text), ({ usage }) => usage.silent),
  ),
}));

/** A part of the rows, for programs. Unknown values are null. */
export function usageJson(
  usage: Usage,
  part: { readonly from: number; readonly limit: number },
): json.JsonOf<typeof usageTable> {
  return usageTable.json({ usage, ...part }, undefined);
}
