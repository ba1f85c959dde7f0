import { cut, type Painter } from '@goshawk/command';
import { formatCount } from '@goshawk/core';

/** Views of `goshawk top`, by the key that shows them. */
const TOP_VIEWS = [
  ['1', 'overview'],
  ['2', 'jobs'],
  ['3', 'workers'],
  ['4', 'users'],
  ['5', 'reasons'],
] as const;
type TopView = (typeof TOP_VIEWS)[number][1];

/** State of the user interface. */
export interface TopState {
  readonly view: TopView;
  /** Index of the selected line. */
  readonly selected: number;
  readonly filter: string;
  /** Filter that is being edited. */
  readonly typing: string | undefined;
  /** Page in front of the list, with its first visible line. */
  readonly detail: { readonly title: string; readonly text: string; readonly from: number } | undefined;
  /** Action that awaits confirmation. */
  readonly confirm: { readonly question: string; readonly action: TopAction } | undefined;
  readonly message: string;
  /** Error of the last refresh; empty after a successful one. */
  readonly problem: string;
}

/** Action that a key triggers. */
export type TopAction =
  | { readonly kind: 'quit' | 'refresh' }
  | { readonly kind: 'details' | 'logs' | 'why' | 'cancel' | 'drain' | 'undrain'; readonly of: string };

interface TopRow {
  readonly name: string;
  readonly line: string;
  /** Consequences of the action that ends the job or drains the worker. */
  readonly note?: string;
  /** Set for a job that has ended, and for a lost worker: there is nothing left to cancel or drain. */
  readonly hasEnded?: boolean;
}

/** Rendered list with selectable rows; overview and reasons are text instead. */
export interface TopList {
  readonly head: string;
  readonly rows: readonly TopRow[];
  /** Number of further rows that are not listed. */
  readonly hidden?: number;
}

export const TOP_START: TopState = {
  view: 'overview',
  selected: 0,
  filter: '',
  typing: undefined,
  detail: undefined,
  confirm: undefined,
  message: '',
  problem: '',
};

const HELP = [
  '1 overview   2 jobs   3 workers   4 users   5 reasons',
  '',
  'up, down, j, k   choose a line           PgUp, PgDn   ten lines',
  'Home, End, g, G  first or last line',
  'Enter            details of the job or worker',
  'l                its output              y            why it waits',
  'c                cancel the job          d            drain or resume the worker',
  '/                filter; jobs: name:etl* user:ann state:failed since:1h',
  'r                refresh                 Esc          back',
  'q, Ctrl-C        quit (q on a page: back)',
].join('\n');

/** Returns the state after a key, and the action to perform. */
export function press(
  state: TopState,
  key: string,
  body: TopList | string,
): { state: TopState; action?: TopAction } {
  const list = typeof body === 'string' ? undefined : body;
  const quiet = { ...state, message: '' };
  if (key === 'ctrl-c') return { state, action: { kind: 'quit' } };
  if (state.confirm !== undefined) {
    const { action } = state.confirm;
    const done = { ...quiet, confirm: undefined };
    return key === 'y' ? { state: done, action } : { state: { ...done, message: 'nothing was changed' } };
  }
  if (state.typing !== undefined) return typed(quiet, state.typing, key);
  const view = TOP_VIEWS.find(([number]) => number === key)?.[1];
  if (state.detail !== undefined && view === undefined) {
    const { detail } = state;
    const step = STEPS[key];
    if (step !== undefined)
      return {
        state: { ...quiet, detail: { ...detail, from: moved(detail.from, step, linesOf(detail.text)) } },
      };
    return key === 'escape' || key === 'q' ? { state: { ...quiet, detail: undefined } } : { state };
  }
  if (view !== undefined)
    return {
      state: { ...quiet, view, selected: 0, filter: '', detail: undefined },
      action: { kind: 'refresh' },
    };
  const step = STEPS[key];
  // A text has no selected line: its first visible line moves.
  const count = typeof body === 'string' ? linesOf(body) : body.rows.length;
  if (step !== undefined) return { state: { ...quiet, selected: moved(state.selected, step, count) } };
  switch (key) {
    case 'q':
      return { state, action: { kind: 'quit' } };
    case '?':
    case 'h':
      return { state: { ...quiet, detail: { title: 'Keys', text: HELP, from: 0 } } };
    case '/':
      return { state: { ...quiet, typing: state.filter } };
    case 'escape':
      return { state: { ...quiet, filter: '', selected: 0 }, action: { kind: 'refresh' } };
    case 'r':
      return { state: quiet, action: { kind: 'refresh' } };
    default:
      return onRow(quiet, key, list?.rows[Math.min(state.selected, list.rows.length - 1)]);
  }
}

/** Returns the state with the same row selected in a new list, so that a key acts on the row that the user sees. */
export function following(state: TopState, before: TopList | string, after: TopList | string): TopState {
  if (typeof before === 'string' || typeof after === 'string') return state;
  const name = before.rows[Math.min(state.selected, before.rows.length - 1)]?.name;
  const at = after.rows.findIndex((row) => row.name === name);
  return at < 0 ? state : { ...state, selected: at };
}

/** Returns the state after a refresh. @param error undefined: it succeeded */
export function refreshed(state: TopState, error?: Error): TopState {
  return { ...state, problem: error?.message ?? '' };
}

const STEPS: Readonly<Record<string, number>> = {
  up: -1,
  k: -1,
  down: 1,
  j: 1,
  pageup: -10,
  pagedown: 10,
  home: Number.NEGATIVE_INFINITY,
  g: Number.NEGATIVE_INFINITY,
  end: Number.POSITIVE_INFINITY,
  G: Number.POSITIVE_INFINITY,
};

function moved(at: number, step: number, count: number): number {
  return Math.max(0, Math.min(count - 1, at + step));
}

function linesOf(text: string): number {
  return text.split('\n').length;
}

function typed(state: TopState, typing: string, key: string): { state: TopState; action?: TopAction } {
  if (key === 'enter')
    return {
      state: { ...state, filter: typing, typing: undefined, selected: 0 },
      action: { kind: 'refresh' },
    };
  if (key === 'escape') return { state: { ...state, typing: undefined } };
  if (key === 'backspace') return { state: { ...state, typing: typing.slice(0, -1) } };
  return [...key].length === 1 ? { state: { ...state, typing: typing + key } } : { state };
}

function onRow(state: TopState, key: string, row: TopRow | undefined): ReturnType<typeof press> {
  const isJobs = state.view === 'jobs';
  const isWorkers = state.view === 'workers';
  if (row === undefined || (!isJobs && !isWorkers)) return { state };
  const of = row.name;
  if (key === 'enter') return { state, action: { kind: 'details', of } };
  if (isJobs && key === 'l') return { state, action: { kind: 'logs', of } };
  if (isJobs && key === 'y') return { state, action: { kind: 'why', of } };
  const ask = (question: string, kind: 'cancel' | 'drain' | 'undrain') => ({
    state: { ...state, confirm: { question, action: { kind, of } } },
  });
  if (isJobs && key === 'c' && row.hasEnded) return { state: { ...state, message: `${of} has ended` } };
  if (isJobs && key === 'c') return ask(`cancel ${of}? ${row.note ?? ''}`, 'cancel');
  if (isWorkers && key === 'd' && row.hasEnded) return { state: { ...state, message: `${of} is lost` } };
  if (isWorkers && key === 'd') {
    return row.note === undefined
      ? ask(`let ${of} take tasks again?`, 'undrain')
      : ask(`drain ${of}? ${row.note}`, 'drain');
  }
  return { state };
}

/**
 * Renders the screen: a line of views, the list or text, and a line of keys.
 *
 * @param body the list or the text of the view
 * @returns as many lines as the screen has rows, none wider than the screen
 */
export function screen(
  state: TopState,
  body: TopList | string,
  size: { readonly columns: number; readonly rows: number },
  paint: Painter,
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
  return [tabs, ...lines, status(state, paint), keys(state, paint)]
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

/** Renders the visible part of a list, scrolled to the selected line. */
function chosen(
  { selected }: TopState,
  { head, rows, hidden = 0 }: TopList,
  room: number,
  paint: Painter,
): string[] {
  if (rows.length === 0) return ['nothing to show'];
  const fit = Math.max(1, room - 2);
  const at = Math.min(selected, rows.length - 1);
  const start = Math.max(0, Math.min(at - Math.floor(fit / 2), rows.length - fit));
  const lines = rows.slice(start, start + fit).map(({ line }, index) => {
    const mark = start + index === at ? '>' : ' ';
    return start + index === at ? paint.bold(`${mark} ${line}`) : `${mark} ${line}`;
  });
  const more = hidden === 0 ? '' : ` listed, and ${formatCount(hidden)} more (/ filters)`;
  return [`  ${head}`, ...lines, paint.dim(`  ${formatCount(at + 1)} of ${formatCount(rows.length)}${more}`)];
}

function status({ typing, confirm, message, problem, filter }: TopState, paint: Painter): string {
  if (confirm !== undefined) return paint.yellow(confirm.question);
  if (typing !== undefined) return `/${typing}█`;
  if (message !== '') return message;
  if (problem !== '') return problem;
  return filter === '' ? '' : paint.dim(`filter: ${filter} (Esc clears it)`);
}

function keys({ view, detail, typing, confirm }: TopState, paint: Painter): string {
  if (confirm !== undefined) return paint.dim('y yes   any other key: no');
  if (typing !== undefined) return paint.dim('Enter apply   Esc back');
  if (detail !== undefined) return paint.dim('up/down scroll   Esc back');
  const own = {
    jobs: 'Enter details  l log  y why  c cancel  / filter  ',
    workers: 'Enter details  d drain  / filter  ',
    users: '',
    overview: 'up/down scroll  5 hints  ',
    reasons: 'up/down scroll  ',
  };
  return paint.dim(`${own[view]}? help  q quit`);
}

const ESCAPE = String.fromCharCode(27);
const PIECES = new RegExp(`${ESCAPE}\\[[0-9;]*[~A-Za-z]|${ESCAPE}O[A-Z]|[\\s\\S]`, 'gu');

/** Returns the names of the keys in a chunk of terminal input. */
export function keysIn(chunk: string): string[] {
  return Array.from(chunk.matchAll(PIECES), ([piece]) => NAMED[piece] ?? piece);
}

const NAMED: Readonly<Record<string, string>> = {
  '\u0003': 'ctrl-c',
  '\u001b': 'escape',
  '\r': 'enter',
  '\n': 'enter',
  '\u007f': 'backspace',
  '\b': 'backspace',
  '\u001b[A': 'up',
  '\u001b[B': 'down',
  '\u001bOA': 'up',
  '\u001bOB': 'down',
  '\u001b[H': 'home',
  '\u001b[F': 'end',
  '\u001bOH': 'home',
  '\u001bOF': 'end',
  '\u001b[1~': 'home',
  '\u001b[4~': 'end',
  '\u001b[5~': 'pageup',
  '\u001b[6~': 'pagedown',
};
