import type { Run } from './comparison.js';
import { textTable } from './terminal.js';

/** Columns of a table in a terminal and on a page: the title, and the cell of a row. */
export type Columns<Row> = readonly (readonly [title: string, cell: (row: Row) => string])[];

export function columnTable<Row>(columns: Columns<Row>, rows: readonly Row[]): string {
  const titles = columns.map(([title]) => title);
  return textTable([titles, ...rows.map((row) => columns.map(([, cell]) => cell(row)))]);
}

/** A row a run, with its seed where there are several; empty where there is no run. */
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
