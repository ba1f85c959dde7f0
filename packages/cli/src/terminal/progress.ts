import { createRequire } from 'node:module';
import { formatCount, formatDuration, type Millis } from '@goshawk/core';
import type { SingleBar } from 'cli-progress';
import { type Context, isReadByProgram, type OutputStream } from '../context.js';

/** How far something has come, shown on stderr while it lasts. */
export interface Progress {
  /** @param note what else there is to say just now, in place of the time that is left */
  update(done: number, note?: string): void;
  /** A line for people that must not end up in the middle of a bar. Nothing with --quiet. */
  say(line: string): void;
  /** Leaves what was reached on the screen; a second call is harmless. */
  stop(): void;
}

/** Between two lines where there is no bar. */
const PLAIN_INTERVAL_MS = 5_000;
const BAR_WIDTH = 24;
const FRAMES_PER_SECOND = 4;

/**
 * Begins to show progress the way that --progress and --quiet ask for: a bar if stderr is a terminal, else a
 * line every few seconds, or nothing.
 *
 * @param label what is being done; in short
 * @param total what `done` counts up to; 0 when nobody knows
 */
export function startProgress(context: Context, label: string, total: number): Progress {
  const { progress, quiet } = context.global;
  const isUnread = isReadByProgram(context.global, context.stderr);
  if (quiet || progress === 'none' || isUnread) return silence(context);
  const wantsBar = progress !== 'plain' && total > 0;
  return wantsBar && context.stderr.isTTY === true
    ? new Bar(context.stderr, label, total)
    : new Lines(context.stderr, label, total);
}

function silence(context: Context): Progress {
  return { update: () => {}, say: (line) => context.note(line), stop: () => {} };
}

class Bar implements Progress {
  readonly #stderr: OutputStream;
  readonly #bar: SingleBar;
  readonly #pace: Pace;

  constructor(stderr: OutputStream, label: string, total: number) {
    this.#stderr = stderr;
    this.#pace = new Pace(total);
    // Loaded where one is drawn, which takes as long as a short simulation.
    const { SingleBar } = createRequire(import.meta.url)('cli-progress') as typeof import('cli-progress');
    this.#bar = new SingleBar({
      stream: withoutJumps(stderr),
      format: `${label} {bar} {percentage}%  {value}/{total}  {note}`,
      formatValue: (value, _options, type) =>
        type === 'percentage' ? `${value}`.padStart(3) : formatCount(value),
      barsize: BAR_WIDTH,
      barCompleteChar: '█',
      barIncompleteChar: '░',
      fps: FRAMES_PER_SECOND,
      forceRedraw: true,
      // A line that is too long is cut. Were wrapping switched off instead, a process that is killed would
      // leave the terminal that way.
      linewrap: true,
    });
    this.#bar.start(total, 0, { note: '' });
  }

  update(done: number, note?: string): void {
    this.#bar.update(done, { note: note ?? this.#pace.timeLeft(done) });
  }

  say(line: string): void {
    if (!this.#bar.isActive) {
      this.#stderr.write(`${line}\n`);
      return;
    }
    this.#stderr.write(`\r\u001b[K${line}\n`);
    this.#bar.render();
  }

  stop(): void {
    this.#bar.stop();
  }
}

/**
 * Filters cursor codes: cli-progress restores a cursor position that is wrong after any other output or a scroll. The
 * cursor is on the line of the bar anyway.
 */
function withoutJumps(stderr: OutputStream): NodeJS.WriteStream {
  const stream: OutputStream = {
    write: (text) => (text === '\u001b7' || text === '\u001b8' ? true : stderr.write(text)),
    isTTY: true,
    get columns() {
      return stderr.columns || 80;
    },
  };
  // What cli-progress asks of a stream is that it writes, and how wide it is.
  return stream as NodeJS.WriteStream;
}

class Lines implements Progress {
  readonly #stderr: OutputStream;
  readonly #label: string;
  readonly #total: number;
  readonly #pace: Pace;
  readonly #timer: NodeJS.Timeout;
  #done = 0;
  #note: string | undefined;
  #saidAt = performance.now();
  #isOver = false;

  constructor(stderr: OutputStream, label: string, total: number) {
    this.#stderr = stderr;
    this.#label = label;
    this.#total = total;
    this.#pace = new Pace(total);
    // Also without progress: a log then shows that the process is alive.
    this.#timer = setInterval(() => this.#speak(), PLAIN_INTERVAL_MS);
    this.#timer.unref();
  }

  update(done: number, note?: string): void {
    this.#done = done;
    this.#note = note;
    this.#pace.hear(done);
    // Work that never lets go of the event loop has no timers.
    if (performance.now() - this.#saidAt >= 2 * PLAIN_INTERVAL_MS) this.#speak();
  }

  say(line: string): void {
    this.#stderr.write(`${line}\n`);
  }

  stop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#timer);
    this.#speak();
  }

  #speak(): void {
    this.#saidAt = performance.now();
    const of = this.#total > 0 ? ` of ${formatCount(this.#total)} (${this.#percentage()}%)` : '';
    const note = this.#note ?? this.#pace.timeLeft(this.#done);
    this.#stderr.write(`${this.#label}: ${formatCount(this.#done)}${of}${note === '' ? '' : `, ${note}`}\n`);
  }

  #percentage(): number {
    return Math.floor((100 * this.#done) / this.#total);
  }
}

/** What is left, if it goes on as it has gone so far. */
class Pace {
  readonly #total: number;
  readonly #startedAt: Millis = performance.now();
  #done = 0;
  /** When `done` changed last. */
  #changedAt = this.#startedAt;

  constructor(total: number) {
    this.#total = total;
  }

  hear(done: number): void {
    if (done !== this.#done) [this.#done, this.#changedAt] = [done, performance.now()];
  }

  timeLeft(done: number): string {
    const now = performance.now();
    this.hear(done);
    const elapsedMs = this.#changedAt - this.#startedAt;
    if (done <= 0 || done >= this.#total || now - this.#startedAt < FORECAST_AFTER_MS) return '';
    // While nothing ends the forecast runs down; past its end there is none.
    const leftMs = (elapsedMs / done) * (this.#total - done) - (now - this.#changedAt);
    return leftMs <= 0 ? '' : `${formatDuration(Math.ceil(leftMs / 1_000) * 1_000)} left`;
  }
}

/** Before that, the pace so far says nothing. */
const FORECAST_AFTER_MS = 2_000;
