import { visible } from '../markup.js';
import { shortest } from '../numbers.js';
import { color } from './palette.js';
import { linearScale, logScale, ratioScale, type Scale } from './ticks.js';

export const FONT_SIZE = 13;
/** Approximate width of a letter at that size, in pixels; only the margins depend on it. */
export const LETTER_WIDTH = 7.4;

const TICK_LENGTH = 10;
const NAME_HEIGHT = 24;

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
interface FittedAxis {
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
  if (reached.length === 0 || greatest <= 0) return linearScale(1);
  if (ticks !== undefined && least > 0 && least < greatest) {
    // An axis with given ticks, such as cluster sizes, does not start at 0.
    const pad = (greatest - least) * 0.04;
    return { min: least - pad, max: greatest + pad, ticks };
  }
  const scale = linearScale(greatest, Math.min(0, least));
  return tight ? { ...scale, max: greatest, ticks: scale.ticks.filter((tick) => tick <= greatest) } : scale;
}

/** Returns the space beside a chart for the labels and names of its axes. */
export function marginsFor(y: FittedAxis): { left: number; right: number; top: number; bottom: number } {
  return { left: nameGapBeside(y) + NAME_HEIGHT, right: 22, top: 14, bottom: 50 };
}

function nameGapBeside({ scale, format }: FittedAxis): number {
  const longest = Math.max(...scale.ticks.map((tick) => format(tick).length));
  return Math.ceil(longest * LETTER_WIDTH) + TICK_LENGTH;
}

const AXIS_COMMON = {
  nameLocation: 'middle',
  nameTextStyle: { color: color('muted'), fontSize: FONT_SIZE },
  // The axis is at the edge even if 0 lies inside, as the logarithm of 1 often does.
  axisLine: { show: true, onZero: false, lineStyle: { color: color('rule') } },
} as const;

/** Returns a numeric axis along the bottom with exactly the ticks of its scale. */
export function xAxis(axis: FittedAxis, splitLines = true) {
  return valueAxis(axis, 30, splitLines);
}

/** Returns a numeric axis at the side with exactly the ticks of its scale. */
export function yAxis(axis: FittedAxis) {
  return valueAxis(axis, nameGapBeside(axis), true);
}

function valueAxis({ spec, scale, format }: FittedAxis, nameGap: number, splitLines: boolean) {
  const { min, max, ticks } = scale;
  return {
    ...AXIS_COMMON,
    type: 'value',
    name: visible(spec.name),
    nameGap,
    min,
    max,
    axisTick: { show: true, customValues: [...ticks], lineStyle: { color: color('rule') } },
    axisLabel: {
      customValues: [...ticks],
      formatter: format,
      color: color('muted'),
      fontSize: FONT_SIZE,
      hideOverlap: true,
    },
    splitLine: { show: splitLines, lineStyle: { color: color('grid') } },
  } as const;
}

/** Returns an axis of names; names wider than `labelWidthMax` are truncated. */
export function categoryAxis(names: readonly string[], labelWidthMax: number, name = '') {
  return {
    ...AXIS_COMMON,
    type: 'category',
    name: visible(name),
    nameGap: 30,
    data: names.map(visible),
    axisTick: { show: false },
    axisLabel: {
      color: color('text'),
      fontSize: FONT_SIZE,
      interval: 0,
      width: labelWidthMax,
      overflow: 'truncate',
    },
    splitLine: { show: false },
  } as const;
}
