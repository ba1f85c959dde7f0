import { csvRow } from '@goshawk/core';
import type { Comparison, Run } from './comparison.js';

/** These fields are too long for a row, or form a separate table. */
const LEFT_OUT: readonly (keyof Run)[] = ['series', 'shadow'];

/**
 * Formats a comparison as CSV: one row per run, columns named by the keys of its JSON, such as
 * `runtimeSeconds.short.p50`.
 */
export function comparisonCsv({ workload, runs }: Pick<Comparison, 'workload' | 'runs'>): string {
  return csvOf(
    runs.map((run) => {
      const kept = Object.fromEntries(
        Object.entries(run).filter(([key]) => !LEFT_OUT.includes(key as keyof Run)),
      );
      return { ...kept, workload: workload.name };
    }),
  );
}

/**
 * Formats records as CSV (RFC 4180) with a header and one column per value, named by its path. Lists are
 * JSON, and missing values are empty.
 */
export function csvOf(records: readonly object[]): string {
  const rows = records.map((record) => new Map(flattened(record, '')));
  const columns = [...new Set(rows.flatMap((row) => [...row.keys()]))];
  const lines = rows.map((row) => csvRow(columns.map((column) => cellOf(row.get(column)))));
  return [csvRow(columns), ...lines].join('\n');
}

function flattened(value: object, path: string): [path: string, value: unknown][] {
  return Object.entries(value).flatMap(([key, each]): [string, unknown][] =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? flattened(each, `${path}${key}.`)
      : [[`${path}${key}`, each]],
  );
}

function cellOf(value: unknown): string | number | null {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) return JSON.stringify(value);
  return typeof value === 'number' ? value : String(value);
}
