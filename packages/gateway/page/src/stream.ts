import { showError } from './actions.js';
import { get } from './api.js';
import { count, counted, duration, fill, h, TableBehind, table, taskLink } from './dom.js';
import { Lanes } from './lanes.js';
import type { Live } from './live.js';
import type { Stream } from './shapes.js';
import { colour, onScheme } from './view.js';

/** Heights in px: row of a worker (minimum and maximum), strip of reserved slots, and axis. */
const ROW_MIN = 18;
const ROW_MAX = 44;
/** Total height of the rows in px if there are few workers. */
const ROWS_HEIGHT = 264;
const STRIP = 16;
const AXIS = 22;
/** Longest name of a worker that is drawn whole. */
const NAME_MAX = 17;
const FONT = '11px system-ui, sans-serif';
/** Maximum number of workers shown. */
const ROWS = 40;
const WINDOWS = [60, 300, 900, 3_600] as const;
const WINDOW_WORDS: Readonly<Record<number, string>> = {
  60: '1 min',
  300: '5 min',
  900: '15 min',
  3600: '1 h',
};
/** Shortest window that can be selected. */
const WINDOW_MIN_SECONDS = 5;
/** Time (ms) for which an attempt is drawn as running after its last observation, as in the panel of its worker. */
const SEEN_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Maximum number of names of jobs in the legend. */
const LEGEND_MAX = 10;
const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const BY_LENGTH = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900];
type StreamJob = Stream['jobs'][number];

/** A rectangle of an attempt in its row. */
interface Span {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly bar: Stream['bars'][number];
}

/**
 * Draws a row for each worker with time from left to right, and a bar for each attempt in the color of its
 * job. Gray is the load reported by central, so that attempts outside the sample do not look like idle
 * workers.
 */
export class StreamView {
  readonly element: HTMLElement;
  readonly #canvas = document.createElement('canvas');
  readonly #tip = h('div', { class: 'tip', hidden: true });
  readonly #problem = h('div', { role: 'status' });
  readonly #legend = h('ul', { class: 'legend' });
  readonly #about = h('p', { class: 'hint' });
  readonly #windows = h('span', { role: 'group', 'aria-label': 'Length of the window' });
  readonly #pages = h('nav', { class: 'pages', 'aria-label': 'Pages of workers' });
  readonly #filter = h('input', {
    id: 'stream-worker',
    type: 'search',
    size: 12,
    autocomplete: 'off',
    spellcheck: 'false',
  });
  readonly #behind = new TableBehind(() => this.#table());
  readonly #place: HTMLElement;
  readonly #signal: AbortSignal;
  #seconds: number = 60;
  /** End of the window, ms since 1970; undefined: the present. */
  #until: number | undefined;
  #from = 0;
  #stream: Stream | undefined;
  #spans: Span[] = [];
  #row = ROW_MIN;
  /** Width of the names of workers, in px. */
  #label = 0;
  #brush: { from: number; to: number } | undefined;
  #isAsking = false;
  #isWanted = false;

  constructor(live: Live, signal: AbortSignal) {
    this.#signal = signal;
    this.#place = h('div', {
      class: 'stream',
      tabindex: 0,
      role: 'application',
      'aria-label':
        'Task stream: left and right move in time, plus and minus zoom, Escape follows now. The table below has the same data.',
    });
    this.#place.append(this.#canvas, this.#tip);
    this.#windowButtons();
    this.element = h(
      'section',
      { class: 'card stream-card' },
      h('h2', {}, 'Task stream'),
      h(
        'div',
        { class: 'filters' },
        this.#windows,
        h('span', {}, h('label', { for: 'stream-worker' }, 'Workers'), this.#filter),
      ),
      this.#problem,
      this.#place,
      this.#legend,
      this.#about,
      this.#pages,
      this.#behind.element,
    );
    this.#filter.addEventListener('input', () => {
      this.#from = 0;
      void this.#ask();
    });
    this.#listen();
    const observer = new ResizeObserver(() => this.#draw());
    observer.observe(this.#place);
    signal.addEventListener('abort', () => observer.disconnect());
    onScheme(() => {
      this.#draw();
      if (this.#stream !== undefined) this.#tellAbout(this.#stream);
    }, signal);
    live.onUpdate(signal, () => {
      // A window in the past does not change.
      if (this.#until === undefined && !document.hidden) void this.#ask();
    });
  }

  async #ask(): Promise<void> {
    this.#isWanted = this.#isAsking;
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      const query = new URLSearchParams({
        seconds: String(this.#seconds),
        from: String(this.#from),
        limit: String(ROWS),
        worker: this.#filter.value.trim(),
      });
      if (this.#until !== undefined) query.set('until', String(Math.round(this.#until)));
      this.#stream = await get<Stream>(`/v1/stream?${query}`, this.#signal);
      fill(this.#problem);
      this.#draw();
      this.#tellAbout(this.#stream);
      this.#behind.refresh();
    } catch (error) {
      showError(this.#problem, error, this.#signal);
    } finally {
      this.#isAsking = false;
    }
    if (this.#isWanted && !this.#signal.aborted) void this.#ask();
  }

  #show(seconds: number, until: number | undefined): void {
    this.#seconds = Math.max(WINDOW_MIN_SECONDS, Math.min(3_600, seconds));
    const now = Date.now();
    const isNow = until === undefined || until >= now;
    this.#until = isNow ? undefined : Math.max(now - HOUR_MS + 1_000 * this.#seconds, until);
    this.#windowButtons();
    void this.#ask();
  }

  #windowButtons(): void {
    const isLive = this.#until === undefined;
    const shown = document.activeElement?.textContent;
    const button = (words: string, isPressed: boolean, show: () => void) =>
      h('button', { type: 'button', 'aria-pressed': String(isPressed), onclick: show }, words);
    const hadFocus = this.#windows.contains(document.activeElement);
    this.#windows.replaceChildren(
      ...WINDOWS.map((seconds) =>
        button(WINDOW_WORDS[seconds]!, seconds === this.#seconds, () => this.#show(seconds, this.#until)),
      ),
      button('live', isLive, () => this.#show(this.#seconds, undefined)),
    );
    if (hadFocus)
      [...this.#windows.querySelectorAll('button')].find((one) => one.textContent === shown)?.focus();
  }

  #listen(): void {
    const canvas = this.#canvas;
    canvas.addEventListener('pointerdown', (event) => {
      if (event.offsetX < this.#label || event.button !== 0 || this.#stream === undefined) return;
      canvas.setPointerCapture(event.pointerId);
      this.#brush = { from: event.offsetX, to: event.offsetX };
    });
    canvas.addEventListener('pointermove', (event) => {
      if (this.#brush !== undefined) {
        this.#brush.to = Math.max(this.#label, event.offsetX);
        this.#draw();
      } else this.#hover(event.offsetX, event.offsetY);
    });
    canvas.addEventListener('pointerleave', () => {
      this.#tip.hidden = true;
    });
    canvas.addEventListener('pointercancel', () => {
      this.#brush = undefined;
      this.#draw();
    });
    canvas.addEventListener('pointerup', ({ offsetX, offsetY }) => {
      const brush = this.#brush;
      this.#brush = undefined;
      if (brush === undefined || Math.abs(brush.to - brush.from) < 5) return this.#open(offsetX, offsetY);
      const [from, to] = [
        this.#timeAt(Math.min(brush.from, brush.to)),
        this.#timeAt(Math.max(brush.from, brush.to)),
      ];
      this.#show((to - from) / 1_000, to);
    });
    canvas.addEventListener('dblclick', () => this.#show(60, undefined));
    this.#place.addEventListener('keydown', (event) => {
      const { key } = event;
      const end = this.#until ?? Date.now();
      const step = 250 * this.#seconds;
      if (key === 'ArrowLeft') this.#show(this.#seconds, end - step);
      else if (key === 'ArrowRight') this.#show(this.#seconds, end + step);
      else if (key === '+' || key === '=') this.#show(this.#seconds / 2, this.#until);
      else if (key === '-') this.#show(this.#seconds * 2, this.#until);
      else if (key === 'Escape') this.#show(60, undefined);
      else return;
      event.preventDefault();
    });
  }

  #open(x: number, y: number): void {
    const span = this.#at(x, y);
    const stream = this.#stream;
    if (stream === undefined) return;
    if (span !== undefined) location.hash = taskLink(stream.jobs[span.bar[1]]!.id, span.bar[2]);
    else if (x < this.#label) {
      const worker = stream.workers[this.#rowAt(y)];
      if (worker !== undefined) location.hash = `#/workers/${encodeURIComponent(worker.name)}`;
    }
  }

  #rowAt(y: number): number {
    return Math.floor((y - STRIP) / this.#row);
  }

  /** Returns the attempt at a point, or the nearest one within `NEAR`. The last one drawn is on top. */
  #at(x: number, y: number): Span | undefined {
    let nearest: Span | undefined;
    let least = NEAR;
    for (const span of this.#spans) {
      const distance = Math.max(
        beyond(x, span.x, span.x + span.width),
        beyond(y, span.y, span.y + span.height),
      );
      if (distance > least) continue;
      nearest = span;
      least = distance;
    }
    return nearest;
  }

  #timeAt(x: number): number {
    const { from, to } = this.#stream!;
    const [start, end] = [Date.parse(from), Date.parse(to)];
    return start + ((end - start) * (x - this.#label)) / Math.max(1, this.#place.clientWidth - this.#label);
  }

  #hover(x: number, y: number): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    const words = this.#wordsAt(stream, x, y);
    this.#canvas.style.cursor = this.#at(x, y) === undefined && x >= this.#label ? 'crosshair' : 'pointer';
    this.#tip.hidden = words === '';
    this.#tip.textContent = words;
    this.#tip.style.left = `${Math.min(x + 12, Math.max(0, this.#place.clientWidth - 260))}px`;
    this.#tip.style.top = `${y + 14}px`;
  }

  #wordsAt(stream: Stream, x: number, y: number): string {
    const span = this.#at(x, y);
    if (span !== undefined) return barWords(stream, span.bar);
    if (x < this.#label) return '';
    const index = Math.floor(
      (this.#timeAt(x) - Date.parse(stream.bucketsFrom)) / (1_000 * stream.bucketSeconds),
    );
    if (y < STRIP) {
      const kept = stream.reserved[index];
      return kept === undefined || kept === null
        ? 'reserved CPUs: unknown'
        : `${counted(kept, 'free CPU')} that only short tasks may take`;
    }
    const worker = stream.workers[this.#rowAt(y)];
    if (worker === undefined) return '';
    const busy = worker.busy[index];
    if (busy === undefined || busy === null) return `${worker.name}: unknown`;
    return busy < 0 ? `${worker.name}: lost` : `${worker.name}: ${busy}% busy`;
  }

  #draw(): void {
    const stream = this.#stream;
    const width = this.#place.clientWidth;
    if (stream === undefined || width === 0) return;
    this.#row = Math.max(
      ROW_MIN,
      Math.min(ROW_MAX, Math.floor(ROWS_HEIGHT / Math.max(1, stream.workers.length))),
    );
    const height = STRIP + stream.workers.length * this.#row + AXIS;
    const canvas = this.#canvas;
    const scale = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext('2d')!;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = FONT;
    const labels = ['reserved', ...stream.workers.map(({ name }) => shortened(name))];
    this.#label = 8 + Math.ceil(Math.max(...labels.map((label) => context.measureText(label).width)));
    const from = Date.parse(stream.from);
    const perMs = (width - this.#label) / (Date.parse(stream.to) - from);
    const x = (at: number) => this.#label + (at - from) * perMs;
    this.#drawLoad(context, stream, x, width);
    this.#drawBars(context, stream, perMs, width);
    this.#drawAxis(context, stream, x, height);
    if (this.#brush !== undefined) {
      context.fillStyle = colour('accent');
      context.globalAlpha = 0.2;
      const { from: one, to: other } = this.#brush;
      context.fillRect(Math.min(one, other), 0, Math.abs(other - one), height - AXIS);
      context.globalAlpha = 1;
    }
  }

  #drawLoad(
    context: CanvasRenderingContext2D,
    stream: Stream,
    x: (at: number) => number,
    width: number,
  ): void {
    const hatch = hatching(context, colour('quiet'));
    const { bucketSeconds, bucketsFrom, reserved, workers } = stream;
    const bucket = (index: number): [number, number] => {
      const at = Date.parse(bucketsFrom) + 1_000 * bucketSeconds * index;
      const left = Math.max(this.#label, x(at));
      return [left, Math.max(0, Math.min(width, x(at + 1_000 * bucketSeconds)) - left)];
    };
    const slots = Math.max(1, ...reserved.map((kept) => kept ?? 0));
    context.textBaseline = 'middle';
    context.fillStyle = colour('quiet');
    context.fillText('reserved', 0, STRIP / 2);
    reserved.forEach((kept, index) => {
      if (kept === null || kept === 0) return;
      const [left, wide] = bucket(index);
      const tall = Math.max(3, ((STRIP - 3) * kept) / slots);
      context.fillStyle = hatch;
      context.fillRect(left, STRIP - 2 - tall, wide, tall);
    });
    workers.forEach(({ name, hidden, partition, state }, row) => {
      const y = STRIP + row * this.#row;
      context.fillStyle = state === 'lost' ? colour('bad') : colour('text');
      context.fillText(shortened(name), 0, y + this.#row / 2);
      hidden.forEach((percent, index) => {
        const [left, wide] = bucket(index);
        if (percent === null) return;
        context.fillStyle = percent < 0 ? colour('cell-lost') : colour('page');
        context.globalAlpha = percent < 0 ? 0.35 : 1;
        context.fillRect(left, y + 1, wide, this.#row - 2);
        context.globalAlpha = 1;
        if (percent < 0) return;
        if (partition === 'short') {
          context.fillStyle = hatch;
          context.fillRect(left, y + 1, wide, this.#row - 2);
        }
        const tall = ((this.#row - 2) * percent) / 100;
        context.fillStyle = colour('cell-idle');
        context.fillRect(left, y + this.#row - 1 - tall, wide, tall);
      });
    });
  }

  #drawBars(context: CanvasRenderingContext2D, stream: Stream, perMs: number, width: number): void {
    const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
    const rows = stream.workers.map(({ slots }) => new Lanes(slots, 1.5 / perMs));
    const windowMs = Date.parse(stream.to) - Date.parse(stream.from);
    // The sample is a few seconds old, so an attempt that ran then probably still runs.
    const endOf = ([, , , , state, began, ran]: Stream['bars'][number]): number =>
      stream.states[state] === 'running' && windowMs - began - ran <= SEEN_MS ? windowMs : began + ran;
    const placed = stream.bars
      .toSorted((one, other) => one[5] - other[5])
      .map((bar) => ({ bar, lanes: rows[bar[0]]!.take(bar[5], endOf(bar), bar[7]) }));
    this.#spans = placed.flatMap(({ bar, lanes }) => {
      const [row, job, , , state, began, ran] = bar;
      const perCpu = (this.#row - 2) / rows[row]!.height;
      const left = Math.max(this.#label, this.#label + began * perMs);
      const right = Math.min(width, this.#label + (began + ran) * perMs);
      const wide = Math.max(1.5, right - left);
      const until = Math.min(width, this.#label + endOf(bar) * perMs);
      const word = stream.states[state];
      return lanes.map(({ from, cpus }): Span => {
        const y = STRIP + row * this.#row + 1 + from * perCpu;
        const height = Math.max(1, cpus * perCpu);
        const tall = height > 3 ? height - 1 : height;
        context.fillStyle = jobColour(stream.jobs[job]!, isDark);
        context.fillRect(left, y, wide, tall);
        if (word === 'failed' || word === 'lost') {
          context.fillStyle = colour('bad');
          context.fillRect(Math.max(left, right - 3), y, 3, tall);
        }
        if (word === 'running') {
          context.globalAlpha = 0.4;
          context.fillRect(right, y, Math.max(0, until - right), tall);
          context.globalAlpha = 1;
          context.fillStyle = colour('text');
          context.fillRect(Math.max(left, right - 1.5), y, 1.5, tall);
        }
        return { x: left, y, width: Math.max(wide, until - left), height, bar };
      });
    });
  }

  #drawAxis(
    context: CanvasRenderingContext2D,
    stream: Stream,
    x: (at: number) => number,
    height: number,
  ): void {
    const [from, to] = [Date.parse(stream.from), Date.parse(stream.to)];
    const room = Math.max(1, Math.floor((this.#place.clientWidth - this.#label) / 90));
    const step = 1_000 * (BY_LENGTH.find((seconds) => (to - from) / (1_000 * seconds) <= room) ?? 900);
    context.fillStyle = colour('quiet');
    context.strokeStyle = colour('line');
    context.lineWidth = 1;
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      context.beginPath();
      context.moveTo(Math.round(x(at)) + 0.5, STRIP);
      context.lineTo(Math.round(x(at)) + 0.5, height - AXIS);
      context.stroke();
      const words = CLOCK.format(at);
      const at0 = Math.min(x(at) - 22, this.#place.clientWidth - 50);
      context.fillText(words, Math.max(this.#label - 22, at0), height - AXIS / 2);
    }
  }

  #tellAbout(stream: Stream): void {
    const { jobs, bars, omitted, total, workers } = stream;
    const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
    const groups = new Map<string, { readonly jobs: Set<StreamJob>; ms: number }>();
    for (const [, index, , , , , ran, cpus] of bars) {
      const job = jobs[index]!;
      const group = groups.get(groupOf(job)) ?? { jobs: new Set(), ms: 0 };
      group.jobs.add(job);
      group.ms += ran * cpus;
      groups.set(groupOf(job), group);
    }
    const top = [...groups.values()].sort((one, other) => other.ms - one.ms).slice(0, LEGEND_MAX);
    fill(
      this.#legend,
      top.map(({ jobs: members }) => {
        const [job] = members;
        const { id, name, user } = job!;
        const key = h('span', { class: 'key' });
        key.style.background = jobColour(job!, isDark);
        const q = `name:${name}${user === null ? '' : ` user:${user}`}`;
        const isOne = members.size === 1;
        // A query has no names with spaces.
        const href =
          isOne || /\s/.test(q.replace(' user:', ''))
            ? `#/jobs/${encodeURIComponent(id)}`
            : `#/jobs?${new URLSearchParams({ q })}`;
        const words = isOne ? id : counted(members.size, 'job');
        const title = `${name} (${words}${user === null ? '' : `, ${user}`})`;
        return h(
          'li',
          {},
          key,
          h('a', { class: 'clip', title, href }, name),
          isOne ? null : ` ${count(members.size)}`,
        );
      }),
      top.length < groups.size ? h('li', {}, `and ${counted(groups.size - top.length, 'more name')}`) : null,
      bars.some((bar) => stream.states[bar[4]] === 'running')
        ? h('li', {}, h('span', { class: 'key faded' }), 'ran when last sampled')
        : null,
      h('li', {}, h('span', { class: 'key cell-idle' }), 'busy, not in the sample'),
      h('li', {}, h('span', { class: 'key hatched' }), 'reserved for short tasks'),
    );
    const when = this.#until === undefined ? 'live' : `until ${CLOCK.format(this.#until)}`;
    const left = omitted === 0 ? '' : `, ${count(omitted)} shorter ones left out`;
    fill(
      this.#about,
      `${WINDOW_WORDS[this.#seconds] ?? duration(this.#seconds)}, ${when}: ${counted(bars.length, 'sampled attempt')} of ${counted(jobs.length, 'job')}${left}. Drag to zoom, double-click to go back, click a bar for its task.`,
    );
    const turn = (text: string, to: number) => h('button', { type: 'button', 'data-from': to }, text);
    fill(
      this.#pages,
      h('span', {}, `${counted(workers.length, 'worker')} of ${count(total)}`),
      this.#from > 0 ? turn('Previous', Math.max(0, this.#from - ROWS)) : null,
      this.#from + workers.length < total ? turn('Next', this.#from + ROWS) : null,
    );
    for (const button of this.#pages.querySelectorAll('button'))
      button.onclick = () => {
        this.#from = Number(button.dataset.from);
        void this.#ask();
      };
  }

  #table(): HTMLElement {
    const stream = this.#stream;
    if (stream === undefined) return h('p', { class: 'hint' }, 'No data yet.');
    return table<Stream['bars'][number]>(
      'Attempts',
      [
        { title: 'worker', of: ([worker]) => stream.workers[worker]!.name },
        {
          title: 'job',
          of: ([, job]) =>
            h('a', { href: `#/jobs/${encodeURIComponent(stream.jobs[job]!.id)}` }, stream.jobs[job]!.name),
        },
        {
          title: 'task',
          isNumber: true,
          of: ([, job, task]) => h('a', { href: taskLink(stream.jobs[job]!.id, task) }, count(task)),
        },
        { title: 'state', of: (bar) => stateWords(stream, bar) },
        { title: 'from', of: (bar) => CLOCK.format(Date.parse(stream.from) + bar[5]) },
        { title: 'ran', isNumber: true, of: (bar) => duration(bar[6] / 1_000) },
        { title: 'CPUs', isNumber: true, of: (bar) => count(bar[7]) },
      ],
      stream.bars.toSorted((one, other) => other[5] - one[5]).slice(0, 100),
    );
  }
}

function shortened(name: string): string {
  return name.length > NAME_MAX ? `${name.slice(0, NAME_MAX - 1)}…` : name;
}

function stateWords(stream: Stream, bar: Stream['bars'][number]): string {
  const state = stream.states[bar[4]]!;
  return state === 'unknown' ? 'ended, outcome not in the sample' : state;
}

function barWords(stream: Stream, bar: Stream['bars'][number]): string {
  const [worker, job, task, attempt, , began, ran, cpus] = bar;
  const { id, name, user } = stream.jobs[job]!;
  const again = attempt > 1 ? `, attempt ${attempt}` : '';
  const from = CLOCK.format(Date.parse(stream.from) + began);
  return `${name} (${id}${user === null ? '' : `, ${user}`}) task ${task}${again} on ${stream.workers[worker]!.name}: ${stateWords(stream, bar)}, from ${from} for ${duration(ran / 1_000)}${cpus === 1 ? '' : `, ${counted(cpus, 'CPU')}`}`;
}

/** Distance (px) at which an attempt counts as pointed at, because many are small. */
const NEAR = 2;

/** Returns how far a value is outside a range. */
function beyond(value: number, low: number, high: number): number {
  return Math.max(low - value, value - high, 0);
}

/** Order in which the names of jobs appeared. */
const HUES = new Map<string, number>();

/** Returns the color of a job: that of all jobs with its name and user. */
function jobColour(job: StreamJob, isDark: boolean): string {
  const key = groupOf(job);
  let index = HUES.get(key);
  if (index === undefined) {
    index = HUES.size;
    HUES.set(key, index);
  }
  // Steps by the golden angle separate consecutive names. Red is reserved for failures.
  const hue = 25 + ((165 + 137.508 * index) % 310);
  const light = index % 3;
  return `hsl(${Math.round(hue)} ${52 + 6 * light}% ${isDark ? 58 + 5 * light : 44 + 5 * light}%)`;
}

function groupOf({ name, user }: StreamJob): string {
  return `${user ?? ''} ${name}`;
}

function hatching(context: CanvasRenderingContext2D, stroke: string): CanvasPattern {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 6;
  const pen = tile.getContext('2d')!;
  pen.strokeStyle = stroke;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(-1, 7);
  pen.lineTo(7, -1);
  pen.moveTo(-1, 1);
  pen.lineTo(1, -1);
  pen.moveTo(5, 7);
  pen.lineTo(7, 5);
  pen.stroke();
  return context.createPattern(tile, 'repeat')!;
}
