import { counted } from '@goshawk/core';
import { Lanes } from './lanes.js';
import type { Stream } from './shapes.js';
import type { Colour } from './ui.js';
import { colourOf, duration } from './words.js';

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
/** Time (ms) for which an attempt is drawn as running after its last observation, as in the panel of its worker. */
const SEEN_MS = 60_000;
/** Distance (px) at which an attempt counts as pointed at, because many are small. */
const NEAR = 2;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400];
export const CLOCK = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});

type Bar = Stream['bars'][number];

/** An attempt, with names for the fields of its tuple. */
export interface Attempt {
  readonly worker: number;
  readonly job: Stream['jobs'][number];
  readonly task: number;
  readonly attempt: number;
  readonly state: string;
  /** Start in ms after the start of the window, and duration in ms. */
  readonly began: number;
  readonly ran: number;
  /** Part of the duration in which it was paused, in ms. */
  readonly paused: number;
  readonly cpus: number;
}

export function attemptOf(
  stream: Stream,
  [worker, job, task, attempt, state, began, ran, cpus, paused]: Bar,
): Attempt {
  return {
    worker,
    job: stream.jobs[job]!,
    task,
    attempt,
    state: stream.states[state]!,
    began,
    ran,
    cpus,
    paused,
  };
}

/** A rectangle of an attempt in its row. */
interface Span {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly attempt: Attempt;
}

/** The drawn bars, to find the one at a point. */
export interface Drawn {
  readonly stream: Stream;
  readonly spans: readonly Span[];
  readonly row: number;
  /** Width of the names of workers, in px. */
  readonly label: number;
  readonly width: number;
}

/** Range of x that the user selects. */
export interface Brush {
  readonly from: number;
  readonly to: number;
}

/**
 * Draws a row for each worker with time from left to right, and a bar for each attempt in the color of its
 * job. Gray is the load reported by central, so that attempts outside the sample do not look like idle
 * workers.
 *
 * @param colour returns a color of the style sheet
 */
export function drawStream(
  canvas: HTMLCanvasElement,
  stream: Stream,
  width: number,
  isDark: boolean,
  colour: (name: Colour) => string,
  brush?: Brush,
): Drawn {
  const row = Math.max(
    ROW_MIN,
    Math.min(ROW_MAX, Math.floor(ROWS_HEIGHT / Math.max(1, stream.workers.length))),
  );
  const height = STRIP + stream.workers.length * row + AXIS;
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
  const label = 8 + Math.ceil(Math.max(...labels.map((text) => context.measureText(text).width)));
  const pen: Pen = { context, stream, row, label, width, height, colour, isDark };
  drawLoad(pen);
  const spans = drawBars(pen);
  drawAxis(pen);
  if (brush !== undefined) {
    context.fillStyle = colour('accent');
    context.globalAlpha = 0.2;
    context.fillRect(Math.min(brush.from, brush.to), 0, Math.abs(brush.to - brush.from), height - AXIS);
    context.globalAlpha = 1;
  }
  return { stream, spans, row, label, width };
}

interface Pen extends Omit<Drawn, 'spans'> {
  readonly context: CanvasRenderingContext2D;
  readonly height: number;
  readonly colour: (name: Colour) => string;
  readonly isDark: boolean;
}

function spanMs({ from, to }: Stream): number {
  return Date.parse(to) - Date.parse(from);
}

function drawLoad({ context, stream, row, label, width, colour }: Pen): void {
  const hatch = hatching(context, colour('quiet'));
  const { bucketSeconds, bucketsFrom, reserved, workers } = stream;
  const from = Date.parse(stream.from);
  const perMs = (width - label) / spanMs(stream);
  const x = (at: number) => label + (at - from) * perMs;
  const bucket = (index: number): [number, number] => {
    const at = Date.parse(bucketsFrom) + 1_000 * bucketSeconds * index;
    const left = Math.max(label, x(at));
    return [left, Math.max(0, Math.min(width, x(at + 1_000 * bucketSeconds)) - left)];
  };
  const slots = Math.max(1, ...reserved.map((kept) => kept ?? 0));
  context.textBaseline = 'middle';
  context.fillStyle = colour('quiet');
  context.fillText('reserved', 0, STRIP / 2);
  for (const [index, kept] of reserved.entries()) {
    if (kept === null || kept === 0) continue;
    const [left, wide] = bucket(index);
    const tall = Math.max(3, ((STRIP - 3) * kept) / slots);
    context.fillStyle = hatch;
    context.fillRect(left, STRIP - 2 - tall, wide, tall);
  }
  for (const [at, { name, hidden, partition, state }] of workers.entries()) {
    const y = STRIP + at * row;
    context.fillStyle = state === 'lost' ? colour('bad') : colour('text');
    context.fillText(shortened(name), 0, y + row / 2);
    for (const [index, percent] of hidden.entries()) {
      if (percent === null) continue;
      const [left, wide] = bucket(index);
      context.fillStyle = percent < 0 ? colour('cell-lost') : colour('page');
      context.globalAlpha = percent < 0 ? 0.35 : 1;
      context.fillRect(left, y + 1, wide, row - 2);
      context.globalAlpha = 1;
      if (percent < 0) continue;
      if (partition === 'short') {
        context.fillStyle = hatch;
        context.fillRect(left, y + 1, wide, row - 2);
      }
      const tall = ((row - 2) * percent) / 100;
      context.fillStyle = colour('cell-idle');
      context.fillRect(left, y + row - 1 - tall, wide, tall);
    }
  }
}

function drawBars({ context, stream, row, label, width, colour, isDark }: Pen): Span[] {
  const windowMs = spanMs(stream);
  const perMs = (width - label) / windowMs;
  const rows = stream.workers.map(({ slots }) => new Lanes(slots, 1.5 / perMs));
  // The sample is a few seconds old, so an attempt that ran then probably still runs.
  const endOf = ({ state, began, ran }: Attempt): number =>
    state === 'running' && windowMs - began - ran <= SEEN_MS ? windowMs : began + ran;
  const placed = stream.bars
    .map((bar) => attemptOf(stream, bar))
    .sort((one, other) => one.began - other.began)
    .map((attempt) => ({
      attempt,
      lanes: rows[attempt.worker]!.take(attempt.began, endOf(attempt), attempt.cpus),
    }));
  return placed.flatMap(({ attempt, lanes }) => {
    const { worker, job, state, began, ran, paused } = attempt;
    const perCpu = (row - 2) / rows[worker]!.height;
    const left = Math.max(label, label + began * perMs);
    const right = Math.min(width, label + (began + ran) * perMs);
    const wide = Math.max(1.5, right - left);
    const until = Math.min(width, label + endOf(attempt) * perMs);
    return lanes.map(({ from, cpus }): Span => {
      const y = STRIP + worker * row + 1 + from * perCpu;
      const height = Math.max(1, cpus * perCpu);
      const tall = height > 3 ? height - 1 : height;
      context.fillStyle = colourOf(job.user, job.name, isDark);
      context.fillRect(left, y, wide, tall);
      if (state === 'failed' || state === 'lost') {
        context.fillStyle = colour('bad');
        context.fillRect(Math.max(left, right - 3), y, 3, tall);
      }
      if (state === 'running') {
        context.globalAlpha = 0.4;
        context.fillRect(right, y, Math.max(0, until - right), tall);
        context.globalAlpha = 1;
        context.fillStyle = colour('text');
        context.fillRect(Math.max(left, right - 1.5), y, 1.5, tall);
      }
      if (paused > 0 && ran > 0) {
        // When it was paused is not in the sample, so the part stands in the middle.
        const part = (wide * Math.min(paused, ran)) / ran;
        context.fillStyle = hatching(context, colour('card'));
        context.fillRect(left + (wide - part) / 2, y, part, tall);
      }
      return { x: left, y, width: Math.max(wide, until - left), height, attempt };
    });
  });
}

function drawAxis({ context, stream, label, width, height, colour }: Pen): void {
  const [from, to] = [Date.parse(stream.from), Date.parse(stream.to)];
  const x = (at: number) => label + ((at - from) * (width - label)) / (to - from);
  const most = Math.max(1, Math.floor((width - label) / 90));
  const step = 1_000 * (STEPS.find((seconds) => (to - from) / (1_000 * seconds) <= most) ?? 14_400);
  context.fillStyle = colour('quiet');
  context.strokeStyle = colour('line');
  context.lineWidth = 1;
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    context.beginPath();
    context.moveTo(Math.round(x(at)) + 0.5, STRIP);
    context.lineTo(Math.round(x(at)) + 0.5, height - AXIS);
    context.stroke();
    context.fillText(
      CLOCK.format(at),
      Math.max(label - 22, Math.min(x(at) - 22, width - 50)),
      height - AXIS / 2,
    );
  }
}

/** Returns the time at a point, ms since 1970. */
export function timeAt({ stream, label, width }: Drawn, x: number): number {
  return Date.parse(stream.from) + (spanMs(stream) * (x - label)) / Math.max(1, width - label);
}

export function workerAt({ stream, row }: Drawn, y: number): Stream['workers'][number] | undefined {
  return stream.workers[Math.floor((y - STRIP) / row)];
}

/** Returns the attempt at a point, or the nearest one within `NEAR`. The last one drawn is on top. */
export function attemptAt({ spans }: Drawn, x: number, y: number): Attempt | undefined {
  let nearest: Attempt | undefined;
  let least = NEAR;
  for (const span of spans) {
    const distance = Math.max(
      beyond(x, span.x, span.x + span.width),
      beyond(y, span.y, span.y + span.height),
    );
    if (distance > least) continue;
    nearest = span.attempt;
    least = distance;
  }
  return nearest;
}

/** Returns how far a value is outside a range. */
function beyond(value: number, low: number, high: number): number {
  return Math.max(low - value, value - high, 0);
}

/** Describes what is at a point; empty: nothing. */
export function wordsAt(drawn: Drawn, x: number, y: number): string {
  const { stream, label } = drawn;
  const attempt = attemptAt(drawn, x, y);
  if (attempt !== undefined) return attemptWords(stream, attempt);
  if (x < label) return '';
  const index = Math.floor(
    (timeAt(drawn, x) - Date.parse(stream.bucketsFrom)) / (1_000 * stream.bucketSeconds),
  );
  if (y < STRIP) {
    const kept = stream.reserved[index];
    return kept === undefined || kept === null
      ? 'reserved CPUs: unknown'
      : `${counted(kept, 'free CPU')} that only short tasks may take`;
  }
  const worker = workerAt(drawn, y);
  if (worker === undefined) return '';
  const busy = worker.busy[index];
  if (busy === undefined || busy === null) return `${worker.name}: unknown`;
  return busy < 0 ? `${worker.name}: lost` : `${worker.name}: ${busy}% of its CPUs requested`;
}

export function stateWords(state: string): string {
  return state === 'unknown' ? 'ended, outcome not in the sample' : state;
}

function attemptWords(
  stream: Stream,
  { worker, job, task, attempt, state, began, ran, cpus, paused }: Attempt,
): string {
  const { id, name, user } = job;
  const again = attempt > 1 ? `, attempt ${attempt}` : '';
  const from = CLOCK.format(Date.parse(stream.from) + began);
  return `${name} (${id}${user === null ? '' : `, ${user}`}) task ${task}${again} on ${stream.workers[worker]!.name}: ${stateWords(state)}, from ${from} for ${duration(ran / 1_000)}${paused > 0 ? `, paused for ${duration(paused / 1_000)} of it` : ''}${cpus === 1 ? '' : `, ${counted(cpus, 'CPU')}`}`;
}

function shortened(name: string): string {
  return name.length > NAME_MAX ? `${name.slice(0, NAME_MAX - 1)}…` : name;
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
