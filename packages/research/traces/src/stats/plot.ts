import type { Cdf, TraceStats } from './stats.js';

/** The number is odd, so that one quarter, half and three quarters each have a row. */
const ROWS = 9;
const LABEL_WIDTH = 5;
/** Dots of a braille character: two across, four down; bit values by row and column. */
const DOTS = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
] as const;

/**
 * Plots distributions of a workload for a terminal: for each value on a logarithmic axis, the share of jobs or tasks
 * with at most this value. Lines have line ends.
 *
 * @param stats computed with `cdfs`
 * @param columns width of the terminal
 */
export function plotStats({ cdfs }: TraceStats, columns: number): string {
  if (cdfs === undefined) return '';
  const width = Math.max(20, Math.min(columns, 100) - LABEL_WIDTH - 3);
  return [
    ...plotCdf('tasks per job', cdfs.tasksPerJob, width),
    '',
    ...plotCdf('task duration, s', cdfs.taskDurationSeconds, width),
    '',
    ...plotCdf("jobs' mean duration, s", cdfs.jobMeanDurationSeconds, width),
    '',
  ].join('\n');
}

function plotCdf(title: string, cdf: Cdf, width: number): string[] {
  const axis = logAxis(cdf, width);
  const canvas = new Canvas(width, ROWS);
  const top = ROWS * 4 - 1;
  let x = 0;
  let y = top;
  cdf.forEach((value, i) => {
    const nextX = Math.round(axis.place(value) * (2 * width - 1));
    const nextY = Math.round(top * (1 - i / (cdf.length - 1)));
    // The share stays constant between values, and rises at repeated values.
    for (; x < nextX; x++) canvas.dot(x, y);
    for (; y > nextY; y--) canvas.dot(x, y);
    canvas.dot(x, y);
  });
  const rows = canvas.rows().map((row, i) => {
    const share = 1 - i / (ROWS - 1);
    const label = i % 2 === 0 ? `${share * 100}%` : '';
    return `${label.padStart(LABEL_WIDTH)} │${row}`;
  });
  const indent = ' '.repeat(LABEL_WIDTH + 1);
  return [title, ...rows, `${indent}└${'─'.repeat(width)}`, `${indent} ${axis.ticks}`];
}

interface Axis {
  /** Maps a value to its position from 0 to 1. */
  readonly place: (value: number) => number;
  readonly ticks: string;
}

/** A logarithmic axis over the values; zeros are at its beginning, and a single value is in its middle. */
function logAxis(cdf: Cdf, width: number): Axis {
  const most = cdf.at(-1)! || 1;
  const least = cdf.find((value) => value > 0) ?? most;
  const low = Math.log10(least) - (least < most ? 0 : 0.5);
  const high = Math.log10(most) + (least < most ? 0 : 0.5);
  const place = (value: number) => (value > 0 ? Math.max(0, (Math.log10(value) - low) / (high - low)) : 0);
  const factors = high - low < 2 ? [1, 2, 5] : [1];
  let ticks = '';
  for (let power = Math.floor(low); power <= high; power++) {
    for (const factor of factors) {
      const value = factor * 10 ** power;
      const at = Math.round(place(value) * (width - 1));
      const label = shortNumber(value);
      const isInside = Math.log10(value) >= low - 1e-9 && at + label.length <= width + 1;
      if (isInside && (ticks === '' || at >= ticks.length + 2)) ticks = ticks.padEnd(at) + label;
    }
  }
  return { place, ticks };
}

/** Formats a number as `0.05`, `100`, `20k` or `1M`. */
function shortNumber(value: number): string {
  if (value < 1) return String(Number(value.toPrecision(1)));
  const thousands = Math.floor(Math.log10(value) / 3 + 1e-9);
  const unit = ['', 'k', 'M', 'G', 'T'][thousands];
  return unit === undefined ? value.toExponential(0) : `${Math.round(value / 1000 ** thousands)}${unit}`;
}

class Canvas {
  readonly #cells: Uint8Array[];

  constructor(width: number, rows: number) {
    this.#cells = Array.from({ length: rows }, () => new Uint8Array(width));
  }

  /** @param x from the left, two per character; `y` from the top, four per character */
  dot(x: number, y: number): void {
    this.#cells[y >> 2]![x >> 1]! |= DOTS[(y & 3) as 0 | 1 | 2 | 3][(x & 1) as 0 | 1];
  }

  rows(): string[] {
    return this.#cells.map(braille);
  }
}

function braille(cells: Uint8Array): string {
  return Array.from(cells, (bits) => (bits === 0 ? ' ' : String.fromCharCode(0x2800 + bits)))
    .join('')
    .trimEnd();
}
