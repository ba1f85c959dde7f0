import { counted, formatCount } from '@goshawk/core';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { addressOf, jobsLink, taskLink } from './router.js';
import type { Stream } from './shapes.js';
import { type Store, useStore } from './store.js';
import {
  attemptAt,
  attemptOf,
  type Brush,
  CLOCK,
  type Drawn,
  drawStream,
  stateWords,
  timeAt,
  wordsAt,
  workerAt,
} from './stream-draw.js';
import { colour, cssColour, Disclosure, Key, Problem, Table, useWidth, Waiting } from './ui.js';
import { useAnswer } from './use-answer.js';
import { clock, colourOf, duration } from './words.js';

/** Maximum number of workers shown. */
const ROWS = 40;
const WINDOWS = [60, 300, 900, 3_600, 86_400] as const;
const WINDOW_WORDS: Readonly<Record<number, string>> = {
  60: '1 min',
  300: '5 min',
  900: '15 min',
  3600: '1 h',
  86400: '1 day',
};
/** Shortest window that can be selected. */
const WINDOW_MIN_SECONDS = 5;
/** Time for which the load of workers is kept. */
const DAY_MS = 86_400_000;
const DAY_SECONDS = 86_400;
/** Length of a step (s) of the record of the day. */
const COARSE_STEP = 120;
/** Maximum number of names of jobs in the legend. */
const LEGEND_MAX = 10;
/** Maximum number of rows of the table. */
const TABLE_MAX = 100;

/** The window in the address: its length, its end (undefined: the present), the filter and the page of workers. */
export interface Window {
  readonly seconds: number;
  readonly until: number | undefined;
  readonly workers: string;
  readonly from: number;
}

export function windowOf(query: URLSearchParams): Window {
  const number = (name: string): number | undefined => {
    const value = Number(query.get(name) ?? Number.NaN);
    return Number.isFinite(value) && value >= 0 ? value : undefined;
  };
  const seconds = Math.max(WINDOW_MIN_SECONDS, Math.min(DAY_SECONDS, number('seconds') ?? 60));
  return { seconds, until: number('until'), workers: query.get('workers') ?? '', from: number('from') ?? 0 };
}

/** Returns the window after a move, as it is in the address. Data is kept for a day. */
export function moved(seconds: number, until: number | undefined, now: number): Record<string, string> {
  const length = Math.max(WINDOW_MIN_SECONDS, Math.min(DAY_SECONDS, seconds));
  const end =
    until === undefined || until >= now ? undefined : Math.max(now - DAY_MS + 1_000 * length, until);
  return {
    seconds: length === 60 ? '' : String(Number(length.toFixed(1))),
    until: end === undefined ? '' : String(Math.round(end)),
  };
}

/** Attempts by worker over time. */
export function StreamCard() {
  const store = useStore();
  const { seconds, until, workers, from } = windowOf(store.address.value.query);
  const asked = new URLSearchParams({
    seconds: String(seconds),
    from: String(from),
    limit: String(ROWS),
    worker: workers.trim(),
  });
  if (until !== undefined) asked.set('until', String(until));
  // A window in the past does not change.
  const { data, error } = useAnswer<Stream>(
    `/v1/stream?${asked}`,
    until === undefined ? store.updates.value : 0,
  );
  const show = (length: number, end: number | undefined): void =>
    store.setQuery(moved(length, end, Date.now()));
  const filter = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (filter.current !== null && filter.current !== document.activeElement) filter.current.value = workers;
  }, [workers]);
  return (
    <section class="card stream-card">
      <h2>Task stream</h2>
      <div class="filters">
        <span role="group" aria-label="Length of the window">
          {WINDOWS.map((length) => (
            <button
              key={length}
              type="button"
              aria-pressed={length === seconds}
              onClick={() => show(length, until)}
            >
              {WINDOW_WORDS[length]}
            </button>
          ))}
          <button type="button" aria-pressed={until === undefined} onClick={() => show(seconds, undefined)}>
            live
          </button>
        </span>
        <span>
          <label for="stream-worker">Workers</label>
          <input
            ref={filter}
            id="stream-worker"
            type="search"
            size={12}
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => store.setQuery({ workers: event.currentTarget.value, from: '' })}
          />
        </span>
      </div>
      <Problem error={error} />
      {data === undefined && error === undefined ? <Waiting /> : null}
      <StreamCanvas stream={data} seconds={seconds} until={until} show={show} />
      {data === undefined ? null : <StreamLegend stream={data} isDark={store.isDark.value} />}
      {data === undefined ? null : (
        <p class="hint">
          {aboutStream(data, seconds, until)} Drag to zoom, double-click to go back, click a bar for its task.
        </p>
      )}
      {data === undefined ? null : <WorkerPages stream={data} from={from} store={store} />}
      {data === undefined ? null : <Disclosure name="stream" build={() => <AttemptTable stream={data} />} />}
    </section>
  );
}

function aboutStream(
  { bars, jobs, omitted, bucketSeconds }: Stream,
  seconds: number,
  until: number | undefined,
): string {
  const when = until === undefined ? 'live' : `until ${clock(until)}`;
  const left = omitted === 0 ? '' : `, ${formatCount(omitted)} shorter ones left out`;
  const coarse =
    bucketSeconds < COARSE_STEP
      ? ''
      : ' The load is what central recorded every 2 minutes; attempts are kept for an hour.';
  return `${WINDOW_WORDS[seconds] ?? duration(seconds)}, ${when}: ${counted(bars.length, 'sampled attempt')} of ${counted(jobs.length, 'job')}${left}.${coarse}`;
}

function WorkerPages({
  stream: { workers, total },
  from,
  store,
}: {
  readonly stream: Stream;
  readonly from: number;
  readonly store: Store;
}) {
  const turn = (text: string, to: number) => (
    <button type="button" onClick={() => store.setQuery({ from: to === 0 ? '' : String(to) }, true)}>
      {text}
    </button>
  );
  return (
    <nav class="pages" aria-label="Pages of workers">
      <span>
        {counted(workers.length, 'worker')} of {formatCount(total)}
      </span>
      {from > 0 ? turn('Previous', Math.max(0, from - ROWS)) : null}
      {from + workers.length < total ? turn('Next', from + ROWS) : null}
    </nav>
  );
}

function StreamCanvas({
  stream,
  seconds,
  until,
  show,
}: {
  readonly stream: Stream | undefined;
  readonly seconds: number;
  readonly until: number | undefined;
  readonly show: (seconds: number, until: number | undefined) => void;
}) {
  const isDark = useStore().isDark.value;
  const canvas = useRef<HTMLCanvasElement>(null);
  const drawn = useRef<Drawn | undefined>(undefined);
  const brush = useRef<Brush | undefined>(undefined);
  const [tip, setTip] = useState<{ readonly words: string; readonly x: number; readonly y: number }>();
  const draw = (): void => {
    const width = place.current?.clientWidth ?? 0;
    if (stream === undefined || width === 0) return;
    drawn.current = drawStream(canvas.current!, stream, width, isDark, colour, brush.current);
  };
  const place = useWidth<HTMLDivElement>(draw);
  useLayoutEffect(draw, [stream, isDark]);
  const point = (x: number, y: number): void => {
    if (drawn.current === undefined) return;
    const words = wordsAt(drawn.current, x, y);
    const isBar = attemptAt(drawn.current, x, y) !== undefined || x < drawn.current.label;
    canvas.current!.style.cursor = isBar ? 'pointer' : 'crosshair';
    setTip(
      words === ''
        ? undefined
        : { words, x: Math.min(x + 12, Math.max(0, drawn.current.width - 260)), y: y + 14 },
    );
  };
  const open = (x: number, y: number): void => {
    if (drawn.current === undefined) return;
    const attempt = attemptAt(drawn.current, x, y);
    const worker = x < drawn.current.label ? workerAt(drawn.current, y) : undefined;
    if (attempt !== undefined) location.hash = taskLink(attempt.job.id, attempt.task);
    else if (worker !== undefined) location.hash = addressOf('workers', worker.name);
  };
  const release = (x: number, y: number): void => {
    const selected = brush.current;
    brush.current = undefined;
    if (drawn.current === undefined || selected === undefined || Math.abs(selected.to - selected.from) < 5)
      return open(x, y);
    const [from, to] = [
      timeAt(drawn.current, Math.min(selected.from, selected.to)),
      timeAt(drawn.current, Math.max(selected.from, selected.to)),
    ];
    draw();
    show((to - from) / 1_000, to);
  };
  const press = (event: KeyboardEvent): void => {
    const { key } = event;
    const end = until ?? Date.now();
    const step = 250 * seconds;
    if (key === 'ArrowLeft') show(seconds, end - step);
    else if (key === 'ArrowRight') show(seconds, end + step);
    else if (key === '+' || key === '=') show(seconds / 2, until);
    else if (key === '-') show(seconds * 2, until);
    else if (key === 'Escape') show(60, undefined);
    else return;
    event.preventDefault();
  };
  return (
    <div
      ref={place}
      class="stream"
      tabIndex={0}
      role="application"
      aria-label="Task stream: left and right move in time, plus and minus zoom, Escape follows now. The table below has the same data."
      onKeyDown={press}
    >
      <canvas
        ref={canvas}
        onPointerDown={(event) => {
          const { offsetX, pointerId, button } = event;
          if (drawn.current === undefined || offsetX < drawn.current.label || button !== 0) return;
          event.currentTarget.setPointerCapture(pointerId);
          brush.current = { from: offsetX, to: offsetX };
        }}
        onPointerMove={({ offsetX, offsetY }) => {
          if (brush.current === undefined) return point(offsetX, offsetY);
          brush.current = { ...brush.current, to: Math.max(drawn.current?.label ?? 0, offsetX) };
          draw();
        }}
        onPointerLeave={() => setTip(undefined)}
        onPointerCancel={() => {
          brush.current = undefined;
          draw();
        }}
        onPointerUp={({ offsetX, offsetY }) => release(offsetX, offsetY)}
        onDblClick={() => show(60, undefined)}
      />
      {tip === undefined ? null : (
        <div class="tip" style={{ left: `${tip.x}px`, top: `${tip.y}px` }}>
          {tip.words}
        </div>
      )}
    </div>
  );
}

/** The jobs with most run time in the window by name and user, and the meaning of the other marks. */
export function StreamLegend({ stream, isDark }: { readonly stream: Stream; readonly isDark: boolean }) {
  const groups = new Map<
    string,
    { readonly ids: Set<string>; readonly name: string; readonly user: string | null; ms: number }
  >();
  const states = new Set<string>();
  let hasPauses = false;
  for (const bar of stream.bars) {
    const { job, ran, cpus, state, paused } = attemptOf(stream, bar);
    states.add(state);
    hasPauses ||= paused > 0;
    const key = `${job.user ?? ''} ${job.name}`;
    const group = groups.get(key) ?? { ids: new Set(), name: job.name, user: job.user, ms: 0 };
    group.ids.add(job.id);
    group.ms += ran * cpus;
    groups.set(key, group);
  }
  const top = [...groups].sort(([, one], [, other]) => other.ms - one.ms).slice(0, LEGEND_MAX);
  return (
    <ul class="legend">
      {top.map(([key, { ids, name, user }]) => {
        const [id] = ids;
        const q = `name:${name}${user === null ? '' : ` user:${user}`}`;
        // A query has no names with spaces.
        const isOne = ids.size === 1 || /\s/.test(q.replace(' user:', ''));
        return (
          <li key={key}>
            <Key colour={colourOf(user, name, isDark)} />
            <a class="clip" title={name} href={isOne ? addressOf('jobs', id) : jobsLink(q)}>
              {name}
            </a>
            {user === null ? '' : `, ${user}`}
            {ids.size > 1 ? ` (${formatCount(ids.size)} jobs)` : ''}
          </li>
        );
      })}
      {top.length < groups.size ? <li>and {counted(groups.size - top.length, 'more name')}</li> : null}
      {states.has('running') ? (
        <li>
          <Key kind="faded" />
          ran when last sampled
        </li>
      ) : null}
      {hasPauses ? (
        <li>
          <Key kind="hatched" />
          paused: its CPUs were lent
        </li>
      ) : null}
      <li>
        <Key colour={cssColour('cell-idle')} />
        busy, not in the sample
      </li>
      <li>
        <Key kind="hatched" />
        reserved for short tasks
      </li>
    </ul>
  );
}

export function AttemptTable({ stream }: { readonly stream: Stream }) {
  const rows = stream.bars
    .map((bar) => attemptOf(stream, bar))
    .sort((one, other) => other.began - one.began)
    .slice(0, TABLE_MAX);
  return (
    <Table<(typeof rows)[number]>
      caption="Attempts"
      rows={rows}
      keyOf={({ job, task, attempt }) => `${job.id}/${task}/${attempt}`}
      columns={[
        { title: 'worker', of: ({ worker }) => stream.workers[worker]!.name },
        { title: 'job', of: ({ job }) => <a href={addressOf('jobs', job.id)}>{job.name}</a> },
        {
          title: 'task',
          isNumber: true,
          of: ({ job, task }) => <a href={taskLink(job.id, task)}>{formatCount(task)}</a>,
        },
        { title: 'state', of: ({ state }) => stateWords(state) },
        { title: 'from', of: ({ began }) => CLOCK.format(Date.parse(stream.from) + began) },
        { title: 'ran', isNumber: true, of: ({ ran }) => duration(ran / 1_000) },
        { title: 'CPUs', isNumber: true, of: ({ cpus }) => formatCount(cpus) },
      ]}
    />
  );
}
