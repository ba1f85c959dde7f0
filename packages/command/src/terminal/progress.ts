import { formatCount, formatDuration, type Millis } from '@goshawk/core';
import { type Context, isReadByProgram, type OutputStream } from '../context.js';
import { shortened } from './width.js';

/** Progress of an operation, shown on stderr. */
export interface Progress {
  /** @param note replaces the time left */
  update(done: number, note?: string): void;
  /** Prints a line for people without breaking the bar. Nothing with --quiet. */
  say(line: string): void;
  /** Stops and leaves the final progress on the screen; a second call is harmless. */
  stop(): void;
}

/** Interval between lines without a progress bar. */
const PLAIN_INTERVAL_MS = 5_000;
const BAR_WIDTH = 24;
/** Columns for the `^C` that a terminal echoes, which would otherwise wrap and leave the old bar above. */
const MARGIN = 2;
const FRAME_MS = 250;
/** Moves the cursor to the beginning of the line and erases it. */
const CLEAR_LINE = '\r\u001b[K';

/**
 * Starts to show progress as --progress and --quiet request: a bar if stderr is a terminal, else a line every
 * few seconds, or nothing.
 *
 * @param label short name of the operation
 * @param total maximum of `done`; 0 if unknown
 */
export function startProgress(context: Context, label: string, total: number): Progress {
  const { progress, quiet } = context.global;
  const isUnread = isReadByProgram(context.global, context.stderr);
  if (quiet || progress === 'none' || isUnread) return silence(context);
  const isBar = progress !== 'plain' && total > 0 && context.stderr.isTTY === true;
  return new TerminalProgress(context.stderr, label, total, isBar);
}

function silence(context: Context): Progress {
  return { update: () => {}, say: (line) => context.note(line), stop: () => {} };
}

class TerminalProgress implements Progress {
  readonly #stderr: OutputStream;
  readonly #label: string;
  readonly #total: number;
  readonly #isBar: boolean;
  readonly #timer: NodeJS.Timeout;
  readonly #startedAt: Millis = performance.now();
  #done = 0;
  /** Time of the last change of `done`. */
  #changedAt = this.#startedAt;
  #note: string | undefined;
  #shownAt = this.#startedAt;
  #isOver = false;

  constructor(stderr: OutputStream, label: string, total: number, isBar: boolean) {
    this.#stderr = stderr;
    this.#label = label;
    this.#total = total;
    this.#isBar = isBar;
    // The timer also runs without progress, so that a log shows that the process is alive.
    this.#timer = setInterval(() => this.#show(), this.#intervalMs);
    this.#timer.unref();
    if (isBar) this.#show();
  }

  update(done: number, note?: string): void {
    const now = performance.now();
    if (done !== this.#done) [this.#done, this.#changedAt] = [done, now];
    this.#note = note;
    // Timers do not run while work blocks the event loop.
    if (now - this.#shownAt >= 2 * this.#intervalMs) this.#show();
  }

  say(line: string): void {
    const isDrawn = this.#isBar && !this.#isOver;
    this.#stderr.write(`${isDrawn ? CLEAR_LINE : ''}${line}\n`);
    if (isDrawn) this.#show();
  }

  stop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#timer);
    this.#show();
    if (this.#isBar) this.#stderr.write('\n');
  }

  get #intervalMs(): Millis {
    return this.#isBar ? FRAME_MS : PLAIN_INTERVAL_MS;
  }

  #show(): void {
    this.#shownAt = performance.now();
    const note = this.#note ?? this.#timeLeft();
    this.#stderr.write(this.#isBar ? this.#bar(note) : this.#line(note));
  }

  /** Returns the bar, cut to one line because the next one overwrites it. */
  #bar(note: string): string {
    const full = Math.round(BAR_WIDTH * Math.min(1, this.#done / this.#total));
    const bar = '█'.repeat(full) + '░'.repeat(BAR_WIDTH - full);
    const percentage = `${this.#percentage()}`.padStart(3);
    const line = `${this.#label} ${bar} ${percentage}%  ${formatCount(this.#done)}/${formatCount(this.#total)}  ${note}`;
    const room = (this.#stderr.columns || 80) - MARGIN;
    return CLEAR_LINE + shortened(line, room);
  }

  #line(note: string): string {
    const of = this.#total > 0 ? ` of ${formatCount(this.#total)} (${this.#percentage()}%)` : '';
    return `${this.#label}: ${formatCount(this.#done)}${of}${note === '' ? '' : `, ${note}`}\n`;
  }

  #percentage(): number {
    return Math.floor((100 * this.#done) / this.#total);
  }

  /** Estimates the time left from the average pace so far. */
  #timeLeft(): string {
    const now = performance.now();
    const done = this.#done;
    if (done <= 0 || done >= this.#total || now - this.#startedAt < FORECAST_AFTER_MS) return '';
    const paceMs = (this.#changedAt - this.#startedAt) / done;
    // The estimate counts down between updates, and disappears when it reaches zero.
    const leftMs = paceMs * (this.#total - done) - (now - this.#changedAt);
    return leftMs <= 0 ? '' : `${formatDuration(Math.ceil(leftMs / 1_000) * 1_000)} left`;
  }
}

/** Minimum run time for a meaningful pace. */
const FORECAST_AFTER_MS = 2_000;
