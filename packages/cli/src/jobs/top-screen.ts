import { cellWidth, cut, type Painter } from '@goshawk/command';
import { formatCount } from '@goshawk/core';
import { rowAt, type TopList, type TopState } from './live-top.js';
import { TOP_VIEWS } from './top-commands.js';

/** Columns and rows from which the screen is divided into two panes. */
const WIDE = { columns: 160, rows: 40 };
/** Share of the left pane. */
const LEFT = 0.55;
const RULE = ' │ ';

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** Widths of the panes; right is 0 on a small screen. */
export function paneWidths({ columns, rows }: ScreenSize): { readonly left: number; readonly right: number } {
  // A terminal of unknown size reports 0.
  if (columns < WIDE.columns || rows < WIDE.rows) return { left: columns || 80, right: 0 };
  const left = Math.floor(LEFT * columns);
  return { left, right: columns - left - RULE.length };
}

/**
 * Renders the screen: a line of views, the list or text, on a large screen a second pane, and a line of keys.
 *
 * @param body the list or the text of the view
 * @param side text of the second pane
 * @returns as many lines as the screen has rows, none wider than the screen
 */
export function screen(
  state: TopState,
  body: TopList | string,
  size: ScreenSize,
  paint: Painter,
  side = '',
): string[] {
  // A terminal of unknown size reports 0.
  const [columns, rows] = [size.columns || 80, size.rows || 24];
  const tabs = TOP_VIEWS.map(([key, view]) =>
    view === state.view ? paint.bold(`[${key} ${view}]`) : ` ${key} ${view} `,
  ).join('');
  const room = Math.max(1, rows - 3);
  const shown =
    state.detail === undefined ? body : `${paint.bold(state.detail.title)}\n\n${state.detail.text}`;
  const lines =
    typeof shown === 'string'
      ? scrolled(shown, state.detail?.from ?? state.selected, room)
      : chosen(state, shown, room, paint);
  while (lines.length < room) lines.push('');
  const { left, right } = paneWidths({ columns, rows });
  const beside = state.detail === undefined && right > 0 ? besides(lines, side, left, paint) : lines;
  return [tabs, ...beside, status(state, body, paint), keys(state, paint)]
    .map((line) => cut(line, columns))
    .slice(0, rows);
}

function scrolled(text: string, from: number, room: number): string[] {
  const all = text.split('\n');
  const start = Math.max(0, Math.min(from, all.length - room));
  const lines = all.slice(start, start + room);
  if (start + room < all.length)
    lines[room - 1] = `… ${formatCount(all.length - start - room + 1)} more lines`;
  return lines;
}

/** Draws the text at the right of the lines. */
function besides(lines: readonly string[], side: string, left: number, paint: Painter): string[] {
  const right = side.split('\n');
  return lines.map((line, index) => {
    const shown = cut(line, left);
    return `${shown}${' '.repeat(Math.max(0, left - cellWidth(shown)))}${paint.dim(RULE)}${right[index] ?? ''}`;
  });
}

/** Renders the visible part of a list, scrolled to the selected line. */
function chosen(
  state: TopState,
  { head, rows, hidden = 0 }: TopList,
  room: number,
  paint: Painter,
): string[] {
  if (rows.length === 0) return ['nothing to show'];
  const { selected, marks, sort, isReversed } = state;
  const fit = Math.max(1, room - 2);
  const row = rowAt(state, { head, rows });
  const at = row === undefined ? Math.min(selected, rows.length - 1) : rows.indexOf(row);
  const start = Math.max(0, Math.min(at - Math.floor(fit / 2), rows.length - fit));
  const lines = rows.slice(start, start + fit).map((each) => {
    const line = `${each === row ? '>' : ' '}${marks.has(each.name) ? '*' : ' '}${each.line}`;
    if (each === row) return paint.bold(line);
    return each.tone === undefined ? line : paint[each.tone](line);
  });
  const more = hidden === 0 ? '' : ` listed, and ${formatCount(hidden)} more (/ filters)`;
  const place = `${formatCount(at + 1)} of ${formatCount(rows.length)}${more}`;
  const order = sort === undefined ? '' : `, by ${sort}`;
  const marked = marks.size === 0 ? '' : `, ${formatCount(marks.size)} marked`;
  return [`  ${head}`, ...lines, paint.dim(`  ${place}${order}${isReversed ? ', reversed' : ''}${marked}`)];
}

function status(state: TopState, body: TopList | string, paint: Painter): string {
  const { typing, confirm, message, problem, filter, at } = state;
  if (confirm !== undefined) return paint.yellow(confirm.question);
  if (typing !== undefined) return `${typing.kind}${typing.text}█`;
  if (message !== '') return message;
  if (problem !== '') return problem;
  if (typeof body !== 'string' && at !== undefined && rowAt(state, body) === undefined)
    return paint.dim(`${at} is not listed any more`);
  return filter === '' ? '' : paint.dim(`filter: ${filter} (Esc clears it)`);
}

function keys({ view, detail, typing, confirm }: TopState, paint: Painter): string {
  if (confirm !== undefined) return paint.dim('y yes   any other key: no');
  if (typing !== undefined) return paint.dim('Enter apply   Esc back');
  if (detail !== undefined) return paint.dim('up/down scroll   Esc back');
  const own = {
    jobs: 'Enter open  l log  y why  c cancel  h hold  t retry  space mark  s sort  ',
    workers: 'Enter open  d drain  space mark  s sort  / filter  ',
    users: '',
    overview: 'up/down scroll  5 hints  ',
    reasons: 'up/down scroll  ',
  };
  return paint.dim(`${own[view]}? keys`);
}
