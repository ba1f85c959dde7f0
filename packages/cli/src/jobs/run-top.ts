import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster, WorkerView } from '@goshawk/client';
import {
  type Column,
  type Context,
  type Painter,
  page,
  painter,
  plain,
  renderTable,
  section,
} from '@goshawk/command';
import {
  compareNames,
  counted,
  formatCount,
  formatDuration,
  formatUsed,
  parseJobQuery,
  sharesByUser,
} from '@goshawk/core';
import type { ClusterWatch } from '@goshawk/gateway';
import { explainJob } from './explain-job.js';
import { jobPage } from './job-page.js';
import {
  arranged,
  following,
  keysIn,
  press,
  refreshed,
  rowAt,
  TOP_START,
  type TopAction,
  type TopList,
  type TopState,
} from './live-top.js';
import { readShares, sharesColumns } from './shares-table.js';
import { wholeLines } from './task-output.js';
import { changeAll } from './top-changes.js';
import { jobRows } from './top-jobs.js';
import { attentionLines, lostWorkerPage, topPage, workerPage } from './top-page.js';
import { paneWidths, screen } from './top-screen.js';
import { whyPage } from './why-page.js';

/** Maximum number of lines of a list. */
const LISTED = 500;
/** Numbers older than this (ms) are shown with their age. */
const STALE_MS = 10_000;
/** Longest interval between refreshes (ms), if the cluster does not answer. */
const REDRAW_MS = 5_000;
/** Time (ms) without an answer to a poll after which the numbers are called old. */
const SILENT_MS = 5_000;
/** Maximum number of output lines that are shown. */
const LOG_LINES = 1_000;
/** Shows the cluster in full screen and handles keys until `q` or Ctrl-C. */
export async function runTop(context: Context, cluster: Cluster, watch: ClusterWatch): Promise<void> {
  const { stdin } = process;
  const paint = painter({ color: context.color });
  let state = TOP_START;
  let body: TopList | string = '';
  /** The list as the cluster gave it, before it is sorted. */
  let listed: TopList | string = '';
  /** The second pane of a large screen. */
  let side = '';
  const sizeOf = () => ({ columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 });
  const quit = new AbortController();
  const signal = AbortSignal.any([quit.signal, context.interrupted]);
  /** The action that opened the page in front of the list. */
  let opened: { readonly action: TopAction; readonly title: string } | undefined;
  const draw = (): void => {
    const lines = screen(state, body, sizeOf(), paint, side);
    context.stdout.write(`\u001b[H${lines.map((line) => `${line}\u001b[K`).join('\r\n')}`);
  };
  /** Requests in flight, by view and filter. */
  const asked = new Set<string>();
  const refresh = async (): Promise<void> => {
    const { view, filter } = state;
    const key = `${view} ${filter}`;
    if (asked.has(key)) return;
    asked.add(key);
    const isCurrent = () => state.view === view && state.filter === filter;
    try {
      const fresh = await bodyOf(cluster, watch, view, filter, paneWidths(sizeOf()).left, signal);
      if (isCurrent()) {
        listed = fresh;
        const now = arranged(listed, state);
        state = following(state, body, now);
        body = now;
        // Jobs and users are asked for by each refresh, and the other views show the last poll.
        state = refreshed(state, view === 'jobs' || view === 'users' ? undefined : silence(watch));
      }
    } catch (error) {
      if (isCurrent()) state = refreshed(state, error as Error);
    } finally {
      asked.delete(key);
    }
    if (!signal.aborted) draw();
    await refreshSide();
  };
  const refreshSide = async (): Promise<void> => {
    const { right } = paneWidths(sizeOf());
    const row = typeof body === 'string' ? undefined : rowAt(state, body);
    const key = `side ${state.view} ${row?.name}`;
    if (right === 0 || asked.has(key)) return;
    asked.add(key);
    const { view, at } = state;
    try {
      const text = await sideOf(cluster, watch, view, row?.name, right, signal);
      // The cursor may have moved during the request.
      if (state.view === view && state.at === at) side = text;
    } catch (error) {
      if (state.view === view && state.at === at) side = (error as Error).message;
    } finally {
      asked.delete(key);
    }
    if (!signal.aborted) draw();
  };
  const act = async (action: TopAction): Promise<void> => {
    if (action.kind === 'quit') return quit.abort();
    if (action.kind !== 'refresh') state = { ...state, message: 'asking the cluster …' };
    const { view } = state;
    try {
      // Keys may have changed the state during the request: a page of one view does not cover another.
      const answer = await done(cluster, watch, action, view, signal);
      const change = state.view === view ? answer : { message: answer.message ?? '' };
      if (change.detail) opened = { action, title: change.detail.title };
      state = { ...state, message: '', ...change };
    } catch (error) {
      state = { ...state, message: (error as Error).message };
    }
    await refresh();
  };
  const onData = (chunk: Buffer): void => {
    for (const key of keysIn(chunk.toString())) {
      const next = press(state, key, body);
      const isMoved = next.state.view !== state.view || next.state.at !== state.at;
      if (next.state.view !== state.view) listed = 'asking the cluster …';
      if (isMoved) side = '';
      state = next.state;
      body = arranged(listed, state);
      if (isMoved && next.action === undefined) void refreshSide();
      if (next.action !== undefined) void act(next.action);
    }
    if (!signal.aborted) draw();
  };
  /** Wraps the text for the new width. */
  const onResize = (): void => {
    draw();
    void refresh();
    const { detail } = state;
    if (detail === undefined || opened?.title !== detail.title) return;
    done(cluster, watch, opened.action, state.view, signal)
      .then((change) => {
        // Keys may have closed or scrolled the page during the request.
        if (state.detail?.title !== change.detail?.title) return;
        state = { ...state, detail: { ...change.detail!, from: state.detail!.from } };
        draw();
      })
      // The page as it was is still shown.
      .catch(() => {});
  };
  // Switches to the alternate screen and hides the cursor; the original screen is restored at the end.
  context.stdout.write('\u001b[?1049h\u001b[?25l\u001b[2J');
  stdin.setRawMode(true);
  stdin.on('data', onData);
  process.stdout.on('resize', onResize);
  const ended = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  try {
    while (!signal.aborted) {
      // The screen also shows that the cluster does not answer.
      void refresh();
      await Promise.race([watch.next(), ended, pause(REDRAW_MS, undefined, { signal }).catch(() => {})]);
    }
  } finally {
    stdin.off('data', onData);
    stdin.setRawMode(false);
    stdin.pause();
    process.stdout.off('resize', onResize);
    context.stdout.write('\u001b[?25h\u001b[?1049l');
  }
}

/** Says how old the numbers are if the cluster does not answer; undefined: they are recent. */
function silence({ silentMs }: ClusterWatch): Error | undefined {
  if (silentMs < SILENT_MS) return undefined;
  return new Error(`the numbers are ${formatDuration(silentMs)} old: central or a scheduler does not answer`);
}

async function bodyOf(
  cluster: Cluster,
  watch: ClusterWatch,
  view: TopState['view'],
  filter: string,
  width: number,
  signal: AbortSignal,
): Promise<TopList | string> {
  const paint = painter({ color: false, columns: width - 2 });
  switch (view) {
    case 'overview':
      return topPage(watch, paint, true);
    case 'reasons':
      return reasons(watch, paint);
    case 'jobs': {
      const { id, ...query } = parseJobQuery(filter, Date.now());
      const asked = { ...query, all: filter !== '', limit: LISTED, signal };
      const { jobs, total } =
        id === undefined
          ? await cluster.jobs(asked)
          : { jobs: [await cluster.job(id).describe({ signal })], total: 1 };
      return { ...jobRows(jobs, Date.now(), paint), hidden: total - jobs.length };
    }
    case 'workers': {
      const last = watch.lastSeen;
      if (last === undefined) return 'unknown: central has not answered yet';
      const fitting = last.view.workers
        .filter(({ name }) => name.includes(filter))
        .sort((one, other) => compareNames(one.name, other.name));
      const lost = last.view.lostWorkers.filter(({ name }) => name.includes(filter));
      const { head, lines } = tableLines(WORKER_COLUMNS, [...fitting, ...lost], paint);
      const lostRows = lost.map(({ name }, index) => ({
        ...{ name, line: lines[fitting.length + index] ?? '', hasEnded: true, tone: 'red' as const },
        by: { name, state: 'lost', busy: 0, queued: 0 },
      }));
      const rows = fitting.map(({ name, state, busy, queued }, index) => ({
        name,
        line: lines[index] ?? '',
        isHeld: state === 'draining' || state === 'drained',
        ...(state === 'active' ? {} : { tone: 'yellow' as const }),
        by: { name, state, busy: -busy, queued: -queued },
        ...(state === 'active' || state === 'quarantined'
          ? { note: `${formatCount(busy)} running will finish, ${formatCount(queued)} queued go elsewhere` }
          : {}),
      }));
      const age = last.agoMs > STALE_MS ? `  (as of ${formatDuration(last.agoMs)} ago)` : '';
      return { head: `${head}${age}`, rows: [...rows, ...lostRows] };
    }
    case 'users': {
      const { shares, holders } = await readShares(cluster, signal);
      const users = sharesByUser(holders)
        .filter(({ user }) => user.includes(filter))
        .sort((one, other) => other.running - one.running || other.waiting - one.waiting);
      const { head, lines } = tableLines(sharesColumns('user', shares), users, paint);
      const rows = users.map(({ user, running, waiting }, index) => ({
        ...{ name: user, line: lines[index] ?? '' },
        by: { user, running: -running, waiting: -waiting },
      }));
      return { head, rows };
    }
  }
}

/** Jobs beside the overview that fit on a large screen. */
const BESIDE = 100;

/** Renders the second pane: jobs beside the overview, otherwise details of the selected row. */
async function sideOf(
  cluster: Cluster,
  watch: ClusterWatch,
  view: TopState['view'],
  name: string | undefined,
  width: number,
  signal: AbortSignal,
): Promise<string> {
  const paint = painter({ color: false, columns: width });
  if (view === 'overview') {
    const { jobs, total } = await cluster.jobs({ limit: BESIDE, signal });
    const { head, rows } = jobRows(jobs, Date.now(), paint);
    const more = total > jobs.length ? [`… ${formatCount(total - jobs.length)} more: 2 shows them`] : [];
    return [head, ...rows.map(({ line }) => line), ...more].join('\n');
  }
  if (name === undefined) return '';
  if (view === 'users') {
    const { jobs } = await cluster.jobs({ user: name, limit: BESIDE, signal });
    const { head, rows } = jobRows(jobs, Date.now(), paint);
    return [head, ...rows.map(({ line }) => line)].join('\n');
  }
  const { detail, message = '' } = await done(
    cluster,
    watch,
    { kind: 'details', of: name },
    view,
    signal,
    width,
  );
  return detail?.text ?? message;
}

/** Columns of workers, lost ones included. */
const WORKER_COLUMNS: readonly Column<{ readonly name: string } & Partial<WorkerView>>[] = [
  { title: 'name', shrinkTo: 12, of: ({ name }) => plain(name) },
  { title: 'state', of: ({ state = 'lost' }) => state },
  { title: 'partition', expendable: 0, of: ({ partition = '' }) => partition },
  {
    title: 'busy',
    align: 'right',
    of: ({ busy, slots }) => (busy === undefined ? '' : `${busy} on ${counted(slots!, 'CPU')}`),
  },
  { title: 'queued', align: 'right', of: ({ queued }) => (queued === undefined ? '' : formatCount(queued)) },
  { title: 'in use', of: ({ used }) => (used === undefined ? '' : formatUsed(used)) },
];

/** Renders one line per row, since none of these columns wraps. */
function tableLines<Row>(columns: readonly Column<Row>[], rows: readonly Row[], paint: Painter) {
  const [head = '', ...lines] = renderTable(columns, rows, paint).split('\n');
  return { head, lines };
}

/** Renders what needs attention, with hints, and why tasks wait. */
function reasons({ overview }: ClusterWatch, paint: Painter): string {
  const { waiting } = overview;
  const rows =
    waiting === null
      ? ['unknown: no scheduler answers']
      : waiting.length === 0
        ? ['no task is waiting']
        : waiting.map(
            ({ class: jobClass, reason, tasks, why, helps, example }) =>
              `${counted(tasks, 'task')} of ${jobClass} jobs (${reason}): ${plain(why)}; longest: ${example}; helps: ${plain(helps)}`,
          );
  const attention = section('attention', attentionLines(overview, paint, true));
  return page('', [...attention, ...section('waiting', rows)], paint).replace(/^\n/, '');
}

/** Whether the action shows a page of one job or worker. */
function opens(action: TopAction & { readonly of: unknown }): action is TopAction & { readonly of: string } {
  return typeof action.of === 'string';
}

/**
 * Performs an action.
 *
 * @returns the changes to the state: a page to show, or a message
 */
async function done(
  cluster: Cluster,
  watch: ClusterWatch,
  action: TopAction,
  view: TopState['view'],
  signal: AbortSignal,
  columns = process.stdout.columns || 80,
): Promise<Partial<TopState>> {
  if (!('of' in action)) return {};
  if (!opens(action)) return { message: await changeAll(cluster, action.kind, action.of, signal) };
  const { kind, of } = action;
  const paint = painter({ color: false, columns });
  const shown = (title: string, text: string) => ({ detail: { title, text, from: 0 } });
  switch (kind) {
    case 'details': {
      const worker = watch.lastSeen?.view.workers.find(({ name }) => name === of);
      const lost = watch.lastSeen?.view.lostWorkers.find(({ name }) => name === of);
      if (view === 'jobs' || (view !== 'workers' && (lost ?? worker) === undefined)) {
        const detail = await cluster.job(of).describe({ signal });
        return shown(`job ${of}`, jobPage(detail, Date.now(), paint));
      }
      if (lost !== undefined) return shown(`worker ${of}`, lostWorkerPage(lost, paint));
      if (worker === undefined) return { message: `${of} is not in the cluster` };
      return shown(`worker ${of}`, workerPage(worker, watch.stream.runningAt(of, Date.now()), Date.now()));
    }
    case 'why': {
      const { explained, background } = await explainJob(cluster, cluster.job(of), { signal });
      return shown(`why ${of}`, whyPage(explained, background, paint));
    }
    default: {
      const lines: string[] = [];
      const decoder = new TextDecoder();
      const sink = wholeLines(({ task, bytes }) => {
        lines.push(`${task}: ${plain(decoder.decode(bytes).replace(/\n$/, ''))}`);
        if (lines.length > 2 * LOG_LINES) lines.splice(0, lines.length - LOG_LINES);
      });
      const notes = new Set<string>();
      const onDropped = (_: unknown, why: string | undefined): void => {
        notes.add(
          why === undefined
            ? `some output is missing: \`goshawk logs ${of}\` says how much`
            : plain(`some output is gone: ${why}`),
        );
      };
      for await (const chunk of cluster.job(of).logs({ signal, onDropped })) sink.write(chunk);
      sink.end();
      const printed = lines.slice(-LOG_LINES);
      if (printed.length === 0 && notes.size === 0) notes.add('nothing was printed');
      return shown(`output of ${of}`, [...notes, ...printed].join('\n'));
    }
  }
}
