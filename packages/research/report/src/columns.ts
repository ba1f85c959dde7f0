import { painter, renderTable } from '@goshawk/core';
import type { Run } from './comparison.js';

/** Columns of a table on a terminal or a page: the title, and the cell of a row. */
export type Columns<Row> = readonly (readonly [title: string, cell: (row: Row) => string])[];

export function columnTable<Row>(columns: Columns<Row>, rows: readonly Row[]): string {
  const aligned = columns.map(
    ([title, of], at) => ({ title, of, align: at === 0 ? 'left' : 'right' }) as const,
  );
  return renderTable(aligned, rows, painter({ color: false }));
}

/** Renders a table with one row per run, including the seed if there are several; empty without runs. */
export function runTable<R extends Pick<Run, 'policy' | 'seed'>>(
  columns: Columns<R>,
  runs: readonly R[],
): string {
  if (runs.length === 0) return '';
  const hasSeeds = runs.some(({ seed }) => seed !== runs[0]!.seed);
  const names: Columns<R> = [
    ['policy', ({ policy }) => policy],
    ['seed', ({ seed }) => `${seed}`],
  ];
  return columnTable([...names.slice(0, hasSeeds ? 2 : 1), ...columns], runs);
}
