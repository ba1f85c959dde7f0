import { sumOf } from '@goshawk/core';
import measure from 'fast-string-truncated-width';
import type { Painter } from './paint.js';

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** It may be cut to this width when the terminal is too narrow. */
  readonly shrinkTo?: number;
  /** Left out when the terminal is too narrow, those with the highest number first. */
  readonly dropFirst?: number;
}

const GAP = '  ';
const ELLIPSIS = '…';

/**
 * Aligned columns without rules, each line within `width` where the columns allow it: first a column is cut,
 * then columns are left out. What remains too wide stays whole, for the terminal to wrap.
 *
 * @param rows one cell a column; colours do not count for the width
 */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
  paint: Painter,
): string {
  const shown = columns.map((column, index) => ({ ...column, index, width: widest(column, rows, index) }));
  let surplus = sumOf(shown.map((column) => column.width)) + GAP.length * (shown.length - 1) - width;
  for (const column of shown) {
    if (column.shrinkTo === undefined || surplus <= 0) continue;
    const cut = Math.min(surplus, Math.max(0, column.width - column.shrinkTo));
    column.width -= cut;
    surplus -= cut;
  }
  const droppable = shown
    .filter((column) => column.dropFirst !== undefined)
    .sort((a, b) => b.dropFirst! - a.dropFirst!);
  for (const column of droppable) {
    if (surplus <= 0) break;
    shown.splice(shown.indexOf(column), 1);
    surplus -= column.width + GAP.length;
  }
  const titles = shown.map((column) => paint.dim(fitted(column.title, column)));
  const lines = rows.map((row) => shown.map((column) => fitted(row[column.index]!, column)));
  return [titles, ...lines].map((cells) => cells.join(GAP).trimEnd()).join('\n');
}

/** The cell in the width of its column, cut where it is wider. A cell that may be cut has no colours. */
function fitted(text: string, { align, width }: Column & { readonly width: number }): string {
  const { index, truncated } = measure(text, { limit: width, ellipsis: ELLIPSIS });
  const cell = truncated ? `${text.slice(0, index)}${ELLIPSIS}` : text;
  const padding = ' '.repeat(width - cellWidth(cell));
  return align === 'right' ? `${padding}${cell}` : `${cell}${padding}`;
}

function widest(column: Column, rows: readonly (readonly string[])[], index: number): number {
  return rows.reduce((max, row) => Math.max(max, cellWidth(row[index]!)), cellWidth(column.title));
}

/** In columns of the terminal: East Asian wide characters take two. */
function cellWidth(text: string): number {
  return measure(text).width;
}
