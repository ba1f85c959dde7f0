import { formatCount } from '@goshawk/core';
import { useMemo, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { bridged, isolated } from './gaps.js';
import { type ChartTime, nearest, Plot } from './plot.js';
import type { Point } from './shapes.js';
import { type Colour, colour, cssColour, Disclosure, Table } from './ui.js';
import { ABSENT, duration, minute } from './words.js';

interface Line {
  readonly label: string;
  /** Color of the line and of its swatch in the legend. */
  readonly colour: Colour;
  readonly dash?: readonly number[];
  readonly of: (point: Point) => number | null;
}

interface ChartSpec {
  /** Name in the address. */
  readonly name: string;
  readonly title: string;
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  /** Whether the axis is logarithmic, because delays span four orders of magnitude. */
  readonly isLog?: boolean;
}

/** Maximum number of points of a line that are drawn as dots too. */
const POINTS_DRAWN = 12;
/** Maximum number of rows of the table behind a chart, newest first. */
const ROWS = 60;

const CLASSES = ['short', 'long'] as const;

export const CHARTS: readonly ChartSpec[] = [
  {
    name: 'throughput',
    title: 'Throughput, tasks per second',
    format: (value) => `${Number(value.toPrecision(3))}`,
    lines: CLASSES.map((kind) => ({ label: kind, colour: kind, of: (point) => point[kind].tasksPerSecond })),
  },
  spread('delay', 'Scheduling delay of tasks', 'p99', ({ delaySeconds }) => delaySeconds),
  spread('run', 'Run time of jobs', 'p90', ({ runSeconds }) => runSeconds),
];

/** Describes a chart of the median and, with a dashed line, a high percentile of both classes. */
function spread<High extends string>(
  name: string,
  title: string,
  high: High,
  of: (point: Point['short']) => Readonly<Record<'p50' | High, number>> | null,
): ChartSpec {
  const lines = CLASSES.flatMap((kind) => [
    { label: `${kind} p50`, colour: kind, of: (point: Point) => of(point[kind])?.p50 ?? null },
    {
      label: `${kind} ${high}`,
      colour: kind,
      dash: [4, 3],
      of: (point: Point) => of(point[kind])?.[high] ?? null,
    },
  ]);
  return { name, title, format: duration, isLog: true, lines };
}

/** A chart whose legend shows the values under the pointer, with its table behind it. */
export function ChartCard({ spec, time }: { readonly spec: ChartSpec; readonly time: ChartTime }) {
  const { points } = time;
  const [at, setAt] = useState<number | undefined>(undefined);
  const { name, title, lines } = spec;
  const data = useMemo(() => dataOf(spec, points), [points]);
  return (
    <section class="card">
      <h2>{title}</h2>
      <ChartLegend spec={spec} point={points.find((point) => point.at === at)} />
      <Plot
        kind={title}
        data={data}
        time={time}
        options={() => optionsOf(spec, setAt)}
        label={`${title}: a chart of ${time.words}; the table below has its numbers`}
      />
      <Disclosure
        name={name}
        build={() => (
          <Table<Point>
            caption={title}
            columns={[
              { title: 'time', of: (point) => minute(1_000 * point.at) },
              ...lines.map((line) => ({
                title: line.label,
                isNumber: true,
                of: (point: Point) => valueWords(spec, line, point),
              })),
            ]}
            rows={points.toReversed().slice(0, ROWS)}
            keyOf={(point) => point.at}
          />
        )}
      />
    </section>
  );
}

function valueWords({ format }: ChartSpec, { of }: Line, point: Point): string {
  const value = of(point);
  return value === null ? ABSENT : format(value);
}

/** The names of the lines, with their values at one point if there is one. */
export function ChartLegend({
  spec,
  point,
}: {
  readonly spec: ChartSpec;
  readonly point: Point | undefined;
}) {
  return (
    <ul class="legend">
      {spec.lines.map((line) => (
        <li key={line.label}>
          <span
            class={line.dash === undefined ? 'line' : 'line dashed'}
            style={{ borderColor: cssColour(line.colour) }}
          />
          {line.label}
          <span class="value">{point === undefined ? '' : valueWords(spec, line, point)}</span>
        </li>
      ))}
      <li class="time">{point === undefined ? '' : `at ${minute(1_000 * point.at)}`}</li>
    </ul>
  );
}

/** Returns the data for uPlot, which shows null as a gap and bridges undefined. */
function dataOf({ lines, isLog = false }: ChartSpec, points: readonly Point[]): uPlot.AlignedData {
  const positive = (value: number | null) => (isLog && value !== null && value <= 0 ? null : value);
  return [
    points.map(({ at }) => at),
    ...lines.map(({ of }) => bridged(points.map((point) => positive(of(point))))),
  ];
}

function optionsOf(
  { lines, isLog = false }: ChartSpec,
  setAt: (at: number | undefined) => void,
): Omit<uPlot.Options, 'width' | 'height'> {
  const axis = {
    stroke: colour('quiet'),
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
  };
  // uPlot passes null for ticks without space.
  const values = (_: unknown, splits: readonly (number | null)[]) =>
    splits.map((split) => (split === null ? '' : isLog ? secondsWord(split) : formatCount(split)));
  const splits = (_: unknown, __: number, from: number, to: number) =>
    TIME_TICKS.filter((tick) => tick >= 0.999 * from && tick <= 1.001 * to);
  // Without a filter, uPlot hides the labels of ticks that do not begin with 1.
  const filter = (_: unknown, shown: number[]) => shown;
  return {
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, move: (plot, left, top) => [nearest(plot, left), top] },
    hooks: { setCursor: [({ cursor, data }) => setAt(cursor.idx == null ? undefined : data[0][cursor.idx])] },
    scales: {
      y: isLog ? { distr: 3, log: 10 } : { range: (_, __, to) => [0, Math.max(1, 1.1 * to)] },
    },
    axes: [
      { ...axis, values: (_, splits) => splits.map((at) => minute(1_000 * at)), space: 60, size: 32 },
      { ...axis, values, size: 58, space: 28, ...(isLog ? { splits, filter } : {}) },
    ],
    series: [
      {},
      ...lines.map(({ label, colour: name, dash }) => ({
        label,
        stroke: colour(name),
        width: 2,
        points: {
          size: 6,
          fill: colour(name),
          // The filter also draws points without a line where others are too close.
          show: true,
          filter: (plot: uPlot, series: number) =>
            plot.data[0].length <= POINTS_DRAWN
              ? null
              : isolated(plot.data[series] as readonly (number | null | undefined)[]),
        },
        ...(dash === undefined ? {} : { dash: [...dash] }),
      })),
    ],
  };
}

/** Ticks of a logarithmic time axis in seconds, which are round in the units of their labels. */
const TIME_TICKS = [0.001, 0.01, 0.1, 1, 10, 60, 600, 3_600, 36_000, 86_400, 864_000] as const;

function secondsWord(seconds: number): string {
  if (seconds < 1) return `${1_000 * seconds} ms`;
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${seconds / 60} min`;
  return seconds < 86_400 ? `${seconds / 3_600} h` : `${seconds / 86_400} d`;
}
