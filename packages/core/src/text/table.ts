import type { Painter } from './paint.js';
import { cellWidth, shortened, wrapWords } from './terminal-text.js';

export interface Column<Row> {
  readonly title: string;
  /** Returns the cell of a row; colors do not count for the width. */
  readonly of: (row: Row) => string;
  readonly align?: 'left' | 'right';
  /** Minimum width, to align with the same column of other rows. */
  readonly width?: number;
  /** Minimum width if the terminal is too narrow and cells are cut. */
  readonly shrinkTo?: number;
  /** Whether text wraps at spaces if the terminal is too narrow; words are never cut. */
  readonly wraps?: boolean;
  /** Rank for removal if the terminal is too narrow; the highest number goes first. */
  readonly expendable?: number;
}

const GAP = '  ';

/**
 * Renders aligned columns without rules, within the width of the terminal if possible. It first removes
 * columns until the others fit at their minimum width, then cuts cells. The terminal wraps lines that remain
 * too long.
 */
export function renderTable<Row>(
  columns: readonly Column<Row>[],
  of: readonly Row[],
  paint: Painter,
): string {
  const rows = of.map((row) => columns.map((column) => column.of(row)));
  const shown = columns.map((column, index) => {
    const width = widest(column, rows, index);
    const shrinkTo = column.wraps ? widestWord(column, rows, index) : (column.shrinkTo ?? width);
    return { ...column, index, width, shrinkTo };
  });
  const droppable = shown
    .filter((column) => column.expendable !== undefined)
    .sort((a, b) => b.expendable! - a.expendable!);
  const dropped: typeof shown = [];
  for (const column of droppable) {
    if (lineWidth(shown, leastWidth) <= paint.columns) break;
    shown.splice(shown.indexOf(column), 1);
    dropped.unshift(column);
  }
  // After a wide column was removed, there may be room for narrow ones.
  for (const column of dropped)
    if (lineWidth([...shown, column], leastWidth) <= paint.columns) shown.push(column);
  shown.sort((one, other) => one.index - other.index);
  let surplus = lineWidth(shown, ({ width }) => width) - paint.columns;
  for (const column of shown) {
    const cut = Math.min(Math.max(0, surplus), column.width - leastWidth(column));
    column.width -= cut;
    surplus -= cut;
  }
  const titles = shown.map((column) => fitted(column.title, column));
  const lines = rows.flatMap((row) => linesOf(shown.map((column) => ({ column, cell: row[column.index]! }))));
  return [paint.dim(titles.join(GAP).trimEnd()), ...lines].join('\n');
}

type SizedColumn = Omit<Column<never>, 'of' | 'width'> & { readonly width: number };
type UnsizedColumn = Omit<Column<never>, 'of'>;

/** Returns as many lines as the tallest cell has. */
function linesOf(cells: readonly { readonly column: SizedColumn; readonly cell: string }[]): string[] {
  const parts = cells.map(({ column, cell }) => (column.wraps ? wrapWords(cell, column.width) : [cell]));
  const height = Math.max(...parts.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) =>
    cells
      .map(({ column }, index) => fitted(parts[index]![line] ?? '', column))
      .join(GAP)
      .trimEnd(),
  );
}

function leastWidth({ width, shrinkTo = width }: SizedColumn): number {
  return Math.min(width, shrinkTo);
}

function lineWidth(columns: readonly SizedColumn[], of: (column: SizedColumn) => number): number {
  return columns.reduce((sum, column) => sum + of(column), 0) + GAP.length * (columns.length - 1);
}

/** Pads or cuts a cell to the width of its column. Cells that may be cut have no colors. */
function fitted(text: string, { align, width }: SizedColumn): string {
  const cell = shortened(text, width);
  const padding = ' '.repeat(width - cellWidth(cell));
  return align === 'right' ? `${padding}${cell}` : `${cell}${padding}`;
}

function widestWord(column: UnsizedColumn, rows: readonly (readonly string[])[], index: number): number {
  const words = [column.title, ...rows.flatMap((row) => row[index]!.split(' '))];
  return words.reduce((max, word) => Math.max(max, cellWidth(word)), column.shrinkTo ?? 0);
}

function widest(column: UnsizedColumn, rows: readonly (readonly string[])[], index: number): number {
  const least = Math.max(cellWidth(column.title), column.width ?? 0);
  return rows.reduce((max, row) => Math.max(max, cellWidth(row[index]!)), least);
}

/**
 * Formats rows of cells as lines, without titles and at their full width. The first column is left-aligned, the others
 * right-aligned; widths are terminal columns.
 */
export function aligned(rows: readonly (readonly string[])[]): string[] {
  const columns = (rows[0] ?? []).map(
    (_, at): SizedColumn => ({
      title: '',
      align: at === 0 ? 'left' : 'right',
      width: rows.reduce((max, row) => Math.max(max, cellWidth(row[at] ?? '')), 0),
    }),
  );
  return rows.flatMap((row) => linesOf(columns.map((column, at) => ({ column, cell: row[at] ?? '' }))));
}
