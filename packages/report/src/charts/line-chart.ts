import { type AxisSpec, fitAxis, marginsFor, xAxis, yAxis } from './axes.js';
import type { ChartPoint, Drawable } from './draw.js';
import { type Drawn, type GappedPoint, lineSeries } from './lines.js';
import { color, type LineLook, lineLook } from './palette.js';
import type { SwatchKind } from './swatch.js';

export interface LineSpec {
  readonly name: string;
  /** Ascending in x; a null is a gap. */
  readonly points: readonly GappedPoint[];
  /** Default: by index of the line. */
  readonly look?: LineLook;
  /** `line` by default. */
  readonly drawn?: Drawn;
}

export interface LegendEntry {
  readonly name: string;
  readonly look: LineLook;
  readonly kind: SwatchKind;
}

/** A chart that is ready to be drawn, and the entries of its legend. */
export interface ChartDrawing extends Drawable {
  readonly legend: readonly LegendEntry[];
}

/** Draws lines over a numeric axis. Each line has a distinct color, dash and marker. */
export function lineChart(spec: {
  readonly x: AxisSpec;
  readonly y: AxisSpec;
  readonly lines: readonly LineSpec[];
  /** Values of y that are marked by a line across the chart, such as 1 on an axis of ratios. */
  readonly references?: readonly number[];
}): ChartDrawing {
  const points = spec.lines.flatMap((line) => line.points);
  const x = fitAxis(
    spec.x,
    points.map(([at]) => at),
  );
  const y = fitAxis(spec.y, [
    ...points.flatMap(([, value]) => (value === null ? [] : [value])),
    ...(spec.references ?? []),
  ]);
  const lines = spec.lines.map((line, index) => ({ ...line, look: line.look ?? lineLook(index) }));
  const placed = (all: readonly GappedPoint[]) =>
    all.flatMap(([at, value]): GappedPoint[] => {
      const left = x.place(at);
      return left === null ? [] : [[left, value === null ? null : y.place(value)]];
    });
  const chartPoint = (name: string, [at, value]: GappedPoint): ChartPoint => {
    const [left, height] = [x.place(at), value === null ? null : y.place(value)];
    const isDrawn = left !== null && height !== null;
    const text = isDrawn ? `${name}: ${y.format(height)} at ${x.format(left)}` : name;
    return { x: at, y: value, text, ...(isDrawn ? { at: [left, height] } : {}) };
  };
  const references = (spec.references ?? []).map(y.place).filter((at) => at !== null);
  return {
    legend: lines.map(({ name, look, drawn }) => ({
      name,
      look,
      kind: drawn === 'points' ? 'points' : 'line',
    })),
    series: lines.map(({ name, points: all }) => ({
      name,
      points: all.map((point) => chartPoint(name, point)),
    })),
    option: {
      grid: marginsFor(y),
      xAxis: xAxis(x, false),
      yAxis: yAxis(y),
      series: lines.map((line, index) => ({
        ...lineSeries(placed(line.points), line.look, index, line.drawn),
        ...(index === 0 && references.length > 0 ? { markLine: across(references) } : {}),
      })),
    },
  };
}

/** Draws fine lines across the whole chart. */
export function across(placed: readonly number[]) {
  return {
    silent: true,
    symbol: 'none',
    label: { show: false },
    lineStyle: { color: color('muted'), type: 'solid', width: 1 },
    data: placed.map((at) => ({ yAxis: at })),
  } as const;
}
