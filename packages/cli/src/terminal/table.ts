import { stripVTControlCharacters } from 'node:util';
import Table from 'cli-table3';
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
  let surplus = sum(shown.map((column) => column.width)) + GAP.length * (shown.length - 1) - width;
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
  return draw(shown, [
    shown.map((column) => paint.dim(column.title)),
    ...rows.map((row) => shown.map((column) => row[column.index]!)),
  ]);
}

function draw(columns: readonly (Column & { width: number })[], rows: readonly string[][]): string {
  const sides = ['top', 'bottom', 'left', 'right', 'mid', 'middle'];
  const none = Object.fromEntries(
    sides.flatMap((side) => [side, `${side}-mid`, `${side}-left`, `${side}-right`]).map((name) => [name, '']),
  );
  const table = new Table({
    chars: { ...none, 'mid-mid': '', middle: GAP },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0, compact: true },
    colWidths: columns.map(({ width }) => width),
    colAligns: columns.map(({ align }) => align ?? 'left'),
  });
  table.push(...rows);
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

function widest(column: Column, rows: readonly (readonly string[])[], index: number): number {
  return rows.reduce((max, row) => Math.max(max, cellWidth(row[index]!)), cellWidth(column.title));
}

/** In columns of the terminal: East Asian wide characters take two. */
function cellWidth(text: string): number {
  let width = 0;
  for (const character of stripVTControlCharacters(text)) width += WIDE.test(character) ? 2 : 1;
  return width;
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
