import { html, type Markup, visible } from '../markup.js';
import { shortest } from '../numbers.js';
import { px, type Size } from './drawing.js';
import { color } from './palette.js';
import { linearScale, logScale, ratioScale, type Scale } from './ticks.js';

export const FONT_SIZE = 13;
/** Approximate width of a letter at that size, in pixels; margins and the room of labels depend on it. */
export const LETTER_WIDTH = 7.4;

const TICK_LENGTH = 5;
/** Room for letters that are wider than the average, such as the percent sign. */
const SLACK = 6;
const NAME_HEIGHT = 24;
const LABEL_GAP = 6;
/** Width that the last label of an axis may take beside the plot. */
const LABEL_OVERHANG = 20;
/** Distance from the middle of a line of text to its baseline. */
const TO_BASELINE = 0.35 * FONT_SIZE;

/** Contents of one axis. */
export interface AxisSpec {
  readonly name: string;
  /**
   * Linear from 0 by default; `log` for positive values over decades; `ratio`: logarithmic and including 1.
   */
  readonly kind?: 'linear' | 'log' | 'ratio';
  /** A tick's label; the shortest form of the number by default, and `0.5×` on an axis of ratios. */
  readonly format?: (value: number) => string;
  /** Tick positions; round numbers by default. */
  readonly ticks?: readonly number[];
  /** Values that the axis includes in any case. */
  readonly reach?: readonly number[];
  /** Whether the axis ends exactly at the last value rather than at the next round number. */
  readonly tight?: boolean;
}

/** An axis fitted to its values. */
export interface FittedAxis {
  readonly spec: AxisSpec;
  /** Scale in chart coordinates, which are log10 on logarithmic axes. */
  readonly scale: Scale;
  readonly format: (placed: number) => string;
  /** Maps a value to its position; null if it has none, such as 0 on a logarithmic axis. */
  readonly place: (value: number) => number | null;
}

export function fitAxis(spec: AxisSpec, values: readonly number[]): FittedAxis {
  const isLog = spec.kind === 'log' || spec.kind === 'ratio';
  const reached = [...values, ...(spec.reach ?? []), ...(spec.ticks ?? [])].filter(
    (value) => Number.isFinite(value) && (!isLog || value > 0),
  );
  const format = spec.format ?? (spec.kind === 'ratio' ? (ratio: number) => `${shortest(ratio)}×` : shortest);
  const place = (value: number) => {
    if (!Number.isFinite(value)) return null;
    if (!isLog) return value;
    return value > 0 ? Math.log10(value) : null;
  };
  const scale = scaleOf(spec, reached);
  const ticks = spec.ticks?.map(place).filter((tick) => tick !== null);
  return {
    spec,
    scale: ticks === undefined ? scale : { ...scale, ticks },
    format: isLog ? (placed) => format(10 ** placed) : format,
    place,
  };
}

function scaleOf({ kind, ticks, tight }: AxisSpec, reached: readonly number[]): Scale {
  const least = reached.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const greatest = reached.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  if (kind === 'ratio') return ratioScale(reached);
  if (kind === 'log') return reached.length === 0 ? logScale(1, 10) : logScale(least, greatest);
  if (reached.length === 0 || (greatest <= 0 && least === greatest)) return linearScale(1);
  if (ticks !== undefined && least < greatest && (least > 0 || greatest < 0)) {
    // An axis with given ticks, such as cluster sizes, does not start at 0.
    const pad = (greatest - least) * 0.04;
    return { min: least - pad, max: greatest + pad, ticks };
  }
  const scale = linearScale(Math.max(0, greatest), Math.min(0, least));
  return tight ? { ...scale, max: greatest, ticks: scale.ticks.filter((tick) => tick <= greatest) } : scale;
}

/** The area of a chart in which values are drawn, in pixels. */
export interface Plot {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Space around the plot for the labels and the names of its axes. */
export function plotOf(y: FittedAxis, { width, height }: Size, hasNameBelow = true): Plot {
  return {
    left: nameGapBeside(y) + NAME_HEIGHT,
    right: width - 22,
    top: 14,
    bottom: height - (hasNameBelow ? 50 : 34),
  };
}

function nameGapBeside({ scale, format }: FittedAxis): number {
  const longest = Math.max(...scale.ticks.map((tick) => format(tick).length));
  return Math.ceil(longest * LETTER_WIDTH) + 2 * TICK_LENGTH + SLACK;
}

/** Returns a function that maps a placed value to pixels. */
export function across(
  { scale: { min, max } }: FittedAxis,
  { left, right }: Plot,
): (placed: number) => number {
  return (placed) => px(left + ((placed - min) / (max - min)) * (right - left));
}

export function upwards(
  { scale: { min, max } }: FittedAxis,
  { top, bottom }: Plot,
): (placed: number) => number {
  return (placed) => px(bottom - ((placed - min) / (max - min)) * (bottom - top));
}

/** Draws straight lines, each from one point to another. */
export function segments(
  all: readonly (readonly [x1: number, y1: number, x2: number, y2: number])[],
  stroke: string,
): Markup | null {
  if (all.length === 0) return null;
  const d = all.map(([x1, y1, x2, y2]) =>
    y1 === y2
      ? `M${px(x1)} ${px(y1)}H${px(x2)}`
      : x1 === x2
        ? `M${px(x1)} ${px(y1)}V${px(y2)}`
        : `M${px(x1)} ${px(y1)}L${px(x2)} ${px(y2)}`,
  );
  return html`<path d="${d.join('')}" stroke="${stroke}" fill="none"/>`;
}

/** Draws text in the given place. Its anchor is horizontal, and `y` its vertical middle. */
export function label(
  text: string,
  x: number,
  y: number,
  anchor: 'start' | 'middle' | 'end',
  ink: string,
  size = FONT_SIZE,
): Markup {
  const fontSize = size === FONT_SIZE ? null : html` font-size="${size}"`;
  return html`<text x="${px(x)}" y="${px(y + TO_BASELINE)}" text-anchor="${anchor}" fill="${ink}"${fontSize}>${visible(text)}</text>`;
}

/** Draws a numeric axis along the bottom, with a tick for each value and as many labels as fit. */
export function axisBelow(axis: FittedAxis, plot: Plot, hasGrid = false): Markup {
  const { spec, scale, format } = axis;
  const at = across(axis, plot);
  const { bottom, top, left, right } = plot;
  const xs = scale.ticks.map(at);
  const halfOf = (index: number) => (index < 0 ? 0 : (format(scale.ticks[index]!).length * LETTER_WIDTH) / 2);
  const last = xs.length - 1;
  // With ticks of its own, an axis always names the last one.
  const lastAt = Math.min(xs[last] ?? 0, right + LABEL_OVERHANG - halfOf(last));
  const least = spec.ticks === undefined ? Number.POSITIVE_INFINITY : lastAt - halfOf(last);
  let end = Number.NEGATIVE_INFINITY;
  const labels = scale.ticks.map((tick, index) => {
    const text = format(tick);
    const half = halfOf(index);
    if ((index === last ? lastAt : xs[index]!) - half <= end + LABEL_GAP) return null;
    if (index < last && xs[index]! + half + LABEL_GAP >= least) return null;
    end = xs[index]! + half;
    return label(
      text,
      index === last ? lastAt : xs[index]!,
      bottom + TICK_LENGTH + 10,
      'middle',
      color('muted'),
    );
  });
  const grid = hasGrid ? xs.map((x) => [x, top, x, bottom] as const) : [];
  const ticks = xs.map((x) => [x, bottom, x, bottom + TICK_LENGTH] as const);
  return html`${segments(grid, color('grid'))}${segments([...ticks, [left, bottom, right, bottom]], color('rule'))}${labels}${nameBelow(spec.name, plot)}
`;
}

/** Draws the name of the horizontal axis. */
export function nameBelow(name: string, plot: Plot): Markup | null {
  if (name === '') return null;
  return label(name, (plot.left + plot.right) / 2, plot.bottom + 36, 'middle', color('muted'));
}

/** Heights of the labels that fit below each other; that of no difference comes first. */
function labelledHeights(axis: FittedAxis, ys: readonly number[]): ReadonlySet<number> {
  const { spec, scale } = axis;
  const isNone = (index: number) => spec.kind === 'ratio' && scale.ticks[index] === axis.place(1);
  const order = ys.map((_, index) => index).sort((one, other) => Number(isNone(other)) - Number(isNone(one)));
  const kept = new Set<number>();
  for (const index of order)
    if (![...kept].some((y) => Math.abs(y - ys[index]!) < FONT_SIZE)) kept.add(ys[index]!);
  return kept;
}

/** Draws a numeric axis at the left, with a grid line at each tick and as many labels as fit. */
export function axisBeside(axis: FittedAxis, plot: Plot): Markup {
  const { spec, scale, format } = axis;
  const at = upwards(axis, plot);
  const { left, right, top, bottom } = plot;
  const ys = scale.ticks.map(at);
  const grid = segments(
    ys.map((y) => [left, y, right, y]),
    color('grid'),
  );
  const ticks = ys.map((y) => [left - TICK_LENGTH, y, left, y] as const);
  const kept = labelledHeights(axis, ys);
  const labels = scale.ticks.map((tick, index) =>
    kept.has(ys[index]!)
      ? label(format(tick), left - TICK_LENGTH - 4, ys[index]!, 'end', color('muted'))
      : null,
  );
  const [x, y] = [plot.left - nameGapBeside(axis) - 4, px((plot.top + plot.bottom) / 2)];
  const name =
    spec.name === ''
      ? null
      : html`<text transform="translate(${px(x)} ${y}) rotate(-90)" text-anchor="middle" fill="${color('muted')}">${visible(spec.name)}</text>`;
  return html`${grid}${segments([...ticks, [left, top, left, bottom]], color('rule'))}${labels}${name}
`;
}

/** Shortens text to the width in pixels, with an ellipsis if something is missing. */
export function shortened(text: string, width: number, size = FONT_SIZE): string {
  const letters = Math.max(1, Math.floor(width / (LETTER_WIDTH * (size / FONT_SIZE))));
  return text.length <= letters ? text : `${text.slice(0, Math.max(1, letters - 1))}…`;
}
