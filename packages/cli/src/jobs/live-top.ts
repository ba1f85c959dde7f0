import { type Command, commandOf, TOP_VIEWS, type TopChange, type TopView } from './top-commands.js';

/** State of the user interface. */
export interface TopState {
  readonly view: TopView;
  /** Name of the selected row, which the cursor never leaves by itself; undefined: the first one. */
  readonly at: string | undefined;
  /** Index of the selected row when it was last listed; in a text, its first visible line. */
  readonly selected: number;
  /** Marked rows, on which actions act instead of the selected one. */
  readonly marks: ReadonlySet<string>;
  /** Column by which rows are sorted; undefined: as the cluster lists them. */
  readonly sort: string | undefined;
  readonly isReversed: boolean;
  readonly filter: string;
  /** Filter or command that is being edited. */
  readonly typing: { readonly kind: '/' | ':'; readonly text: string } | undefined;
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
  | { readonly kind: 'details' | 'logs' | 'why'; readonly of: string }
  | { readonly kind: TopChange; readonly of: readonly string[] };

export interface TopRow {
  readonly name: string;
  readonly line: string;
  /** Consequences of the action that ends the job or drains the worker. */
  readonly note?: string;
  /** Set for a job that has ended, and for a lost worker: there is nothing left to cancel or drain. */
  readonly hasEnded?: boolean;
  /** Set for a job on hold, and for a worker that takes no tasks. */
  readonly isHeld?: boolean;
  readonly tone?: 'red' | 'yellow' | 'dim';
  /** Values by which it can be sorted. */
  readonly by?: Readonly<Record<string, string | number>>;
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
  at: undefined,
  selected: 0,
  marks: new Set(),
  sort: undefined,
  isReversed: false,
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
  'space            mark a line             *            mark all, or none',
  's                sort by the next column S            reverse the order',
  'Enter            details of the job or worker',
  'l                its output              y            why it waits',
  'c                cancel                  h            hold, or release',
  't                retry                   +, -         raise, lower priority',
  'd                drain or resume the worker',
  '/                filter; jobs: name:etl* user:ann state:failed since:1h',
  ':                command: workers, sort COLUMN, cancel ID, show ID, quit …',
  'r                refresh                 Esc          back; no marks, no filter',
  'q, Ctrl-C        quit (q on a page: back)',
  '',
  'Actions act on the marked lines, or on the selected one if none is marked.',
].join('\n');

interface Pressed {
  readonly state: TopState;
  readonly action?: TopAction;
}

/** Returns the state after a key, and the action to perform. */
export function press(state: TopState, key: string, body: TopList | string): Pressed {
  const list = typeof body === 'string' ? undefined : body;
  const quiet = { ...state, message: '' };
  if (key === 'ctrl-c') return { state, action: { kind: 'quit' } };
  if (state.confirm !== undefined) {
    const { action } = state.confirm;
    const done = { ...quiet, confirm: undefined };
    return key === 'y'
      ? { state: { ...done, marks: new Set() }, action }
      : { state: { ...done, message: 'nothing was changed' } };
  }
  if (state.typing !== undefined) return typed(quiet, state.typing, key, list);
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
  if (view !== undefined) return shown(quiet, view);
  const step = STEPS[key];
  if (step !== undefined) return { state: stepped(quiet, step, body) };
  switch (key) {
    case 'q':
      return { state, action: { kind: 'quit' } };
    case '?':
      return { state: { ...quiet, detail: { title: 'Keys', text: HELP, from: 0 } } };
    case '/':
      return { state: { ...quiet, typing: { kind: '/', text: state.filter } } };
    case ':':
      return { state: { ...quiet, typing: { kind: ':', text: '' } } };
    case 'escape':
      if (state.marks.size > 0) return { state: { ...quiet, marks: new Set() } };
      return { state: { ...quiet, filter: '', at: undefined, selected: 0 }, action: { kind: 'refresh' } };
    case 'r':
      return { state: quiet, action: { kind: 'refresh' } };
    case 's':
      return { state: { ...quiet, sort: nextColumn(quiet.sort, list) } };
    case 'S':
      return { state: { ...quiet, isReversed: !quiet.isReversed } };
    default:
      return list === undefined ? { state } : onRow(quiet, key, list);
  }
}

function shown(state: TopState, view: TopView): Pressed {
  return { state: { ...TOP_START, view, problem: state.problem }, action: { kind: 'refresh' } };
}

/** The row under the cursor; undefined: there is none, or it is not listed any more. */
export function rowAt(
  { at, selected }: Pick<TopState, 'at' | 'selected'>,
  { rows }: TopList,
): TopRow | undefined {
  return at === undefined ? rows[Math.min(selected, rows.length - 1)] : rows.find(({ name }) => name === at);
}

/** The list in the order that the user chose. */
export function arranged(body: TopList | string, { sort, isReversed }: TopState): TopList | string {
  if (typeof body === 'string' || (sort === undefined && !isReversed)) return body;
  const rows = [...body.rows];
  if (sort !== undefined)
    rows.sort((one, other) => {
      const [a, b] = [one.by?.[sort] ?? '', other.by?.[sort] ?? ''];
      if (typeof a === 'number' && typeof b === 'number') return a - b;
      return `${a}` < `${b}` ? -1 : `${a}` > `${b}` ? 1 : 0;
    });
  if (isReversed) rows.reverse();
  return { ...body, rows };
}

/**
 * Returns the state for a new list: the cursor stays at its row, wherever that is now, so that a key acts on the row that the
 * user sees. Rows that are not listed any more lose their mark.
 */
export function following(state: TopState, before: TopList | string, after: TopList | string): TopState {
  if (typeof after === 'string') return state;
  const row = typeof before === 'string' ? undefined : rowAt(state, before);
  const at = state.at ?? row?.name ?? after.rows[Math.min(state.selected, after.rows.length - 1)]?.name;
  const index = after.rows.findIndex(({ name }) => name === at);
  const marks =
    state.marks.size === 0
      ? state.marks
      : new Set(after.rows.flatMap(({ name }) => (state.marks.has(name) ? [name] : [])));
  return { ...state, marks, at, selected: index < 0 ? state.selected : index };
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

function stepped(state: TopState, step: number, body: TopList | string): TopState {
  // A text has no selected line: its first visible line moves.
  if (typeof body === 'string') return { ...state, selected: moved(state.selected, step, linesOf(body)) };
  const found = body.rows.findIndex(({ name }) => name === state.at);
  const from = found < 0 ? Math.min(state.selected, body.rows.length - 1) : found;
  const selected = moved(from, step, body.rows.length);
  return { ...state, selected, at: body.rows[selected]?.name };
}

function moved(at: number, step: number, count: number): number {
  return Math.max(0, Math.min(count - 1, at + step));
}

function linesOf(text: string): number {
  return text.split('\n').length;
}

function nextColumn(sort: string | undefined, list: TopList | undefined): string | undefined {
  const columns = Object.keys(list?.rows[0]?.by ?? {});
  return columns[sort === undefined ? 0 : columns.indexOf(sort) + 1];
}

function typed(
  state: TopState,
  { kind, text }: NonNullable<TopState['typing']>,
  key: string,
  list: TopList | undefined,
): Pressed {
  const done = { ...state, typing: undefined };
  if (key === 'enter')
    return kind === ':'
      ? commanded(done, commandOf(text), list)
      : { state: { ...done, filter: text, at: undefined, selected: 0 }, action: { kind: 'refresh' } };
  if (key === 'escape') return { state: done };
  if (key === 'backspace') return { state: { ...state, typing: { kind, text: text.slice(0, -1) } } };
  return [...key].length === 1 ? { state: { ...state, typing: { kind, text: text + key } } } : { state };
}

/** Performs what was typed after `:`. */
function commanded(state: TopState, command: Command, list: TopList | undefined): Pressed {
  switch (command.kind) {
    case 'nothing':
      return { state };
    case 'unknown':
      return { state: { ...state, message: command.why } };
    case 'quit':
      return { state, action: { kind: 'quit' } };
    case 'help':
      return { state: { ...state, detail: { title: 'Keys', text: HELP, from: 0 } } };
    case 'view':
      return shown(state, command.view);
    case 'filter':
      return {
        state: { ...state, filter: command.text, at: undefined, selected: 0 },
        action: { kind: 'refresh' },
      };
    case 'sort': {
      const columns = Object.keys(list?.rows[0]?.by ?? {});
      const sort = columns.find((column) => column.startsWith(command.column));
      if (sort === undefined)
        return { state: { ...state, message: `sort by one of ${columns.join(', ') || 'nothing here'}` } };
      return { state: { ...state, sort } };
    }
    default: {
      const { of } = command;
      const rows = list?.rows ?? [];
      // An id may be shortened to its only beginning here.
      const named = of.map((id) => {
        const found = rows.filter(({ name }) => name.startsWith(id));
        return rows.find(({ name }) => name === id)?.name ?? (found.length === 1 ? found[0]!.name : id);
      });
      if (command.kind === 'open') {
        const target = named[0] ?? (list && rowAt(state, list)?.name);
        return target === undefined
          ? { state: { ...state, message: 'name a job' } }
          : { state, action: { kind: command.what, of: target } };
      }
      if (named.length === 0) return list === undefined ? { state } : changed(state, command.change, list);
      return confirmed(state, command.change, named, rows);
    }
  }
}

const KEYS: Readonly<Record<string, TopChange>> = { c: 'cancel', t: 'retry', '+': 'raise', '-': 'lower' };

function onRow(state: TopState, key: string, list: TopList): Pressed {
  const isJobs = state.view === 'jobs';
  const isWorkers = state.view === 'workers';
  if (!isJobs && !isWorkers) return { state };
  const row = rowAt(state, list);
  if (key === ' ' && row !== undefined) {
    const marks = new Set(state.marks);
    if (!marks.delete(row.name)) marks.add(row.name);
    return { state: stepped({ ...state, marks }, 1, list) };
  }
  if (key === '*')
    return {
      state: { ...state, marks: new Set(state.marks.size > 0 ? [] : list.rows.map(({ name }) => name)) },
    };
  const opens = { enter: 'details', ...(isJobs ? { l: 'logs', y: 'why' } : {}) }[key] as
    | 'details'
    | 'logs'
    | 'why'
    | undefined;
  if (opens !== undefined)
    return row === undefined ? gone(state) : { state, action: { kind: opens, of: row.name } };
  const chosen = chosenRows(state, list);
  const areHeld = chosen.length > 0 && chosen.every(({ isHeld }) => isHeld);
  if (isJobs && key === 'h') return changed(state, areHeld ? 'release' : 'hold', list);
  if (isWorkers && key === 'd') return changed(state, areHeld ? 'undrain' : 'drain', list);
  const change = isJobs ? KEYS[key] : undefined;
  return change === undefined ? { state } : changed(state, change, list);
}

function gone(state: TopState): Pressed {
  return { state: { ...state, message: state.at === undefined ? '' : `${state.at} is not listed any more` } };
}

/** The marked rows, or the selected one. */
function chosenRows(state: TopState, list: TopList): readonly TopRow[] {
  if (state.marks.size > 0) return list.rows.filter(({ name }) => state.marks.has(name));
  const row = rowAt(state, list);
  return row === undefined ? [] : [row];
}

const IN_VIEW: Readonly<Record<TopChange, TopView>> = {
  ...{ cancel: 'jobs', hold: 'jobs', release: 'jobs', retry: 'jobs', raise: 'jobs', lower: 'jobs' },
  ...{ drain: 'workers', undrain: 'workers' },
};

/** Changes the marked rows, or the selected one: those that the change can affect. */
function changed(state: TopState, change: TopChange, list: TopList): Pressed {
  if (state.view !== IN_VIEW[change])
    return { state: { ...state, message: `${change}: show ${IN_VIEW[change]} first` } };
  const chosen = chosenRows(state, list);
  if (chosen.length === 0) return gone(state);
  const able = chosen.filter((row) => cannot(change, row) === undefined);
  if (able.length === 0) {
    const why = cannot(change, chosen[0]!)!;
    const message = chosen.length === 1 ? `${chosen[0]!.name} ${why}` : `each of the ${chosen.length} ${why}`;
    return { state: { ...state, message } };
  }
  return confirmed(
    state,
    change,
    able.map(({ name }) => name),
    list.rows,
  );
}

/** Why a change cannot affect a row. */
function cannot(change: TopChange, { hasEnded, isHeld }: TopRow): string | undefined {
  switch (change) {
    case 'retry':
      return hasEnded ? undefined : 'has not ended';
    case 'drain':
      return !hasEnded && isHeld ? 'takes no tasks' : undefined;
    case 'undrain':
      return hasEnded ? 'is lost' : isHeld ? undefined : 'takes tasks';
    case 'hold':
      return hasEnded ? 'has ended' : isHeld ? 'is on hold' : undefined;
    case 'release':
      return hasEnded ? 'has ended' : isHeld ? undefined : 'is not on hold';
    default:
      return hasEnded ? 'has ended' : undefined;
  }
}

/** Changes that end running work, and those of several rows, need a confirmation. */
const ASKS: ReadonlySet<TopChange> = new Set(['cancel', 'drain', 'undrain']);

const WORDS: Readonly<Record<TopChange, (what: string) => string>> = {
  cancel: (what) => `cancel ${what}?`,
  hold: (what) => `hold ${what}?`,
  release: (what) => `release ${what}?`,
  retry: (what) => `retry ${what}?`,
  raise: (what) => `raise the priority of ${what}?`,
  lower: (what) => `lower the priority of ${what}?`,
  drain: (what) => `drain ${what}?`,
  undrain: (what) => `let ${what} take tasks again?`,
};

function confirmed(
  state: TopState,
  kind: TopChange,
  of: readonly string[],
  rows: readonly TopRow[],
): Pressed {
  const action = { kind, of };
  if (of.length === 1 && !ASKS.has(kind)) return { state: { ...state, marks: new Set() }, action };
  const note = of.length === 1 ? (rows.find(({ name }) => name === of[0])?.note ?? '') : of.join(', ');
  const what = of.length === 1 ? of[0]! : `${of.length} ${IN_VIEW[kind]}`;
  return { state: { ...state, confirm: { question: `${WORDS[kind](what)} ${note}`.trim(), action } } };
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
