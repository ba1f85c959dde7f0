import { html, type Markup } from '../markup.js';
import {
  type AxisSpec,
  across,
  axisBelow,
  axisBeside,
  type FittedAxis,
  fitAxis,
  plotOf,
  segments,
  upwards,
} from './axes.js';
import { type ChartDrawing, px, tooltip } from './drawing.js';
import type { GappedPoint } from './lines.js';
import { color, type LineLook, lineLook } from './palette.js';
import { markerAt } from './swatch.js';

/**
 * How values along a line are joined. With `steps` each value applies to the time since the previous one;
 * `points` are not joined, for example the values that a paper states.
 */
type Drawn = 'line' | 'steps' | 'points';

export interface LineSpec {
  readonly name: string;
  /** Ascending in x; a null is a gap. */
  readonly points: readonly GappedPoint[];
  /** Default: by index of the line. */
  readonly look?: LineLook;
  /** `line` by default. */
  readonly drawn?: Drawn;
  /** Least and greatest value over the seeds, one per point. */
  readonly spread?: readonly (readonly [least: number, greatest: number] | null)[];
}

const MARKERS_A_LINE = 5;
const MARKED_THROUGHOUT_MAX = 16;
/** Lone markers are larger, because no line leads the eye to them. */
const LONE_MARKER_SCALE = 1.4;
const WHISKER = 4;
/** Maximum number of tooltips of a line: the more lines, the fewer, so that pages of many policies stay small. */
const tooltipsMax = (lines: number): number => Math.max(1, Math.floor(36 / lines) - 4);
const TARGET_RADIUS = 6;

interface FittedLine extends LineSpec {
  readonly look: LineLook;
  readonly index: number;
  /** Points in pixels; null is a gap. */
  readonly placed: readonly (readonly [x: number, y: number | null])[];
}

/** Draws lines over a numeric axis. Each line has a distinct color, dash and marker. */
export function lineChart(spec: {
  readonly x: AxisSpec;
  readonly y: AxisSpec;
  readonly lines: readonly LineSpec[];
  /** Values of y that are marked by a line across the chart, such as 1 on an axis of ratios. */
  readonly references?: readonly number[];
}): ChartDrawing {
  const x = fitAxis(
    spec.x,
    spec.lines.flatMap(({ points }) => points.map(([at]) => at)),
  );
  const y = fitAxis(spec.y, [
    ...spec.lines.flatMap(({ points, spread = [] }) => [
      ...points.flatMap(([, value]) => (value === null ? [] : [value])),
      ...spread.flatMap((range) => range ?? []),
    ]),
    ...(spec.references ?? []),
  ]);
  const looks = spec.lines.map(({ look }, index) => look ?? lineLook(index));
  return {
    legend: spec.lines.map(({ name, drawn }, index) => ({
      name,
      look: looks[index]!,
      kind: drawn === 'points' ? 'points' : 'line',
    })),
    series: spec.lines.map(({ name, points }) => ({
      name,
      points: points.map(([at, value]) => ({ x: at, y: value })),
    })),
    draw: (size) => {
      const plot = plotOf(y, size);
      const [left, height] = [across(x, plot), upwards(y, plot)];
      const drawn = spec.lines.map((each, index): FittedLine => {
        const placed = each.points.flatMap(([at, value]) => {
          const [onX, onY] = [x.place(at), value === null ? null : y.place(value)];
          return onX === null ? [] : [[left(onX), onY === null ? null : height(onY)] as const];
        });
        return { ...each, look: looks[index]!, index, placed };
      });
      const references = (spec.references ?? []).flatMap((value) => {
        const at = y.place(value);
        return at === null ? [] : [[plot.left, height(at), plot.right, height(at)] as const];
      });
      // The first line is the subject of the comparison, so it is on top.
      return html`${axisBeside(y, plot)}${axisBelow(x, plot)}${segments(references, color('muted'))}
${drawn.toReversed().map(
  (each) => html`${spreadOf(each, y, height)}${pathOf(each)}${markersOf(each)}
`,
)}${drawn.map((each) => targetsOf(each, { x, y }, drawn.length))}`.text;
    },
  };
}

function pathOf({ look, drawn = 'line', placed }: FittedLine): Markup | null {
  if (drawn === 'points') return null;
  let d = '';
  let last: readonly [x: number, y: number] | undefined;
  for (const [x, y] of placed) {
    if (y === null) {
      last = undefined;
      continue;
    }
    // Relative coordinates are shorter, and pages have many points.
    const [right, down] = [px(x - (last?.[0] ?? 0)), px(y - (last?.[1] ?? 0))];
    d += last === undefined ? `M${x} ${y}` : drawn === 'steps' ? `v${down}h${right}` : `l${right} ${down}`;
    last = [x, y];
  }
  if (d === '') return null;
  const dash = look.dash.length === 0 ? null : html` stroke-dasharray="${look.dash.join(' ')}"`;
  return html`<path d="${d}" fill="none" stroke="${color(look.color)}" stroke-width="2" stroke-linejoin="round"${dash}/>`;
}

/** Draws a marker on each point of a short line, and on a few of a long one. */
function markersOf({ look, drawn, placed, index }: FittedLine): Markup {
  const isMarkedThroughout = drawn === 'points' || placed.length <= MARKED_THROUGHOUT_MAX;
  const marked = isMarkedThroughout ? placed : markedPoints(placed.length, index).map((at) => placed[at]!);
  const scale = drawn === 'points' ? LONE_MARKER_SCALE : 1;
  return html`${marked.flatMap(([x, y]) => (y === null ? [] : [markerAt(look, x, y, scale)]))}`;
}

/** Indices spread evenly over the line, shifted a little for each line so that markers do not coincide. */
function markedPoints(points: number, index: number): number[] {
  const shift = ((index % 4) + 1) / 5;
  const marked = Array.from({ length: MARKERS_A_LINE }, (_, at) =>
    Math.floor(((at + shift) / MARKERS_A_LINE) * points),
  );
  return [...new Set(marked)].filter((at) => at < points);
}

function spreadOf(
  { placed, spread = [], look }: FittedLine,
  y: FittedAxis,
  height: (placed: number) => number,
): Markup {
  return html`${placed.flatMap(([x], at) => whisker(spread[at], x, y, height, color(look.color)) ?? [])}`;
}

/** Draws the range of a value as a vertical line with ends. */
export function whisker(
  range: readonly [least: number, greatest: number] | null | undefined,
  x: number,
  y: FittedAxis,
  height: (placed: number) => number,
  stroke: string,
): Markup | null {
  const [least, greatest] = (range ?? []).map(y.place);
  if (least === undefined || greatest === undefined || least === null || greatest === null) return null;
  const [low, high] = [height(least), height(greatest)];
  if (low === high) return null;
  return html`<path d="M${px(x - WHISKER)} ${low}H${px(x + WHISKER)}M${x} ${low}V${high}M${px(x - WHISKER)} ${high}H${px(x + WHISKER)}" stroke="${stroke}" fill="none"/>`;
}

/** Invisible circles that show values, spread evenly if there are many points. */
function targetsOf(
  { name, points, placed }: FittedLine,
  { x, y }: { readonly x: FittedAxis; readonly y: FittedAxis },
  lines: number,
): Markup {
  const drawable = points.filter(([at]) => x.place(at) !== null);
  const shown = placed.flatMap(([, onY], at) => (onY === null ? [] : [at]));
  const max = tooltipsMax(lines);
  const chosen =
    shown.length <= max
      ? shown
      : Array.from(
          { length: max },
          (_, at) => shown[Math.round((at * (shown.length - 1)) / Math.max(1, max - 1))]!,
        );
  return html`<g fill-opacity="0">${chosen.map((at) => {
    const [left, top] = placed[at]!;
    const [valueX, valueY] = drawable[at]!;
    const text = `${name}: ${y.format(y.place(valueY!)!)} at ${x.format(x.place(valueX)!)}`;
    return html`<circle cx="${left}" cy="${top!}" r="${TARGET_RADIUS}">${tooltip(text)}</circle>`;
  })}</g>
`;
}
