import { count, duration, h, TableBehind, table } from './dom.js';
import { bridged, isolated } from './gaps.js';
import type { Point } from './shapes.js';
import uPlot from './uplot.js';
import { colour, onScheme } from './view.js';

interface Line {
  readonly label: string;
  /** A color of the style sheet. */
  readonly colour: string;
  readonly dash?: readonly number[];
  readonly of: (point: Point) => number | null;
}

interface ChartSpec {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  /** Whether the axis is logarithmic, because delays span four orders of magnitude. */
  readonly isLog?: boolean;
}

const TIMES = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const HEIGHT = 190;
/** Maximum number of points of a line that are drawn as dots too. */
const POINTS_DRAWN = 12;
/** Maximum number of rows of the table behind a chart, newest first. */
const ROWS = 60;

const CLASSES = ['short', 'long'] as const;

export const CHARTS: readonly ChartSpec[] = [
  {
    title: 'Throughput, tasks per second',
    format: (value) => `${Number(value.toPrecision(3))}`,
    lines: CLASSES.map((kind) => ({ label: kind, colour: kind, of: (point) => point[kind].tasksPerSecond })),
  },
  spread('Scheduling delay of tasks', 'p99', ({ delaySeconds }) => delaySeconds),
  spread('Run time of jobs', 'p90', ({ runSeconds }) => runSeconds),
];

/** Describes a chart of the median and, with a dashed line, a high percentile of both classes. */
function spread<High extends string>(
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
  return { title, format: duration, isLog: true, lines };
}

/** A chart of the last hour, whose legend shows the values under the pointer, with its table behind it. */
export class Chart {
  readonly element: HTMLElement;
  readonly #spec: ChartSpec;
  readonly #legend: Legend;
  readonly #place = h('div', { class: 'chart' });
  readonly #behind = new TableBehind(() => this.#table());
  #plot: uPlot | undefined;
  #points: readonly Point[] = [];

  constructor(spec: ChartSpec, signal: AbortSignal) {
    this.#spec = spec;
    this.#legend = new Legend(spec);
    this.#place.setAttribute('role', 'img');
    this.#place.setAttribute(
      'aria-label',
      `${spec.title}: a chart of the last hour; the table below has its numbers`,
    );
    this.element = h(
      'section',
      { class: 'card' },
      h('h2', {}, spec.title),
      this.#legend.element,
      this.#place,
      this.#behind.element,
    );
    const observer = new ResizeObserver(() => this.#resize());
    observer.observe(this.#place);
    onScheme(() => this.#draw(), signal);
    signal.addEventListener('abort', () => {
      observer.disconnect();
      this.#plot?.destroy();
    });
  }

  show(points: readonly Point[]): void {
    this.#points = points;
    if (this.#plot === undefined) this.#draw();
    else this.#plot.setData(this.#data());
    this.#behind.refresh();
  }

  /** Returns the data for uPlot, which shows null as a gap and bridges undefined. */
  #data(): uPlot.AlignedData {
    const positive = (value: number | null) =>
      this.#spec.isLog && value !== null && value <= 0 ? null : value;
    return [
      this.#points.map(({ at }) => at),
      ...this.#spec.lines.map(({ of }) => bridged(this.#points.map((point) => positive(of(point))))),
    ];
  }

  #draw(): void {
    this.#plot?.destroy();
    const { lines, isLog = false } = this.#spec;
    const axis = {
      stroke: colour('quiet'),
      grid: { stroke: colour('line'), width: 1 },
      ticks: { show: false },
    };
    // uPlot passes null for ticks without space.
    const values = (_: unknown, splits: readonly (number | null)[]) =>
      splits.map((split) => (split === null ? '' : isLog ? secondsWord(split) : count(split)));
    const splits = (_: unknown, __: number, from: number, to: number) =>
      TIME_TICKS.filter((tick) => tick >= 0.999 * from && tick <= 1.001 * to);
    // Without a filter, uPlot hides the labels of ticks that do not begin with 1.
    const filter = (_: unknown, shown: number[]) => shown;
    this.#plot = new uPlot(
      {
        width: Math.max(120, this.#place.clientWidth),
        height: HEIGHT,
        legend: { show: false },
        cursor: {
          y: false,
          drag: { x: false, y: false },
          move: (plot, left, top) => [nearest(plot, left), top],
        },
        hooks: { setCursor: [({ cursor }) => this.#legend.show(this.#points[cursor.idx ?? -1])] },
        scales: {
          // The axis spans at least ten minutes, so that the first points do not fill the chart.
          x: { time: true, range: () => this.#window() },
          y: isLog ? { distr: 3, log: 10 } : { range: (_, __, to) => [0, Math.max(1, 1.1 * to)] },
        },
        axes: [
          {
            ...axis,
            values: (_, splits) => splits.map((at) => TIMES.format(1_000 * at)),
            space: 60,
            size: 32,
          },
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
      },
      this.#data(),
      this.#place,
    );
  }

  /** uPlot's own range of one point, or of none, is not a range of times. */
  #window(): [number, number] {
    const to = this.#points.at(-1)?.at ?? Date.now() / 1_000;
    // The newest point is not cut off by the edge.
    return [Math.min(this.#points[0]?.at ?? to, to - 600), to + 5];
  }

  #resize(): void {
    const width = this.#place.clientWidth;
    if (width > 0) this.#plot?.setSize({ width, height: HEIGHT });
  }

  #table(): HTMLElement {
    const { title, lines, format } = this.#spec;
    return table<Point>(
      title,
      [
        { title: 'time', of: ({ at }) => TIMES.format(1_000 * at) },
        ...lines.map(({ label, of }) => ({
          title: label,
          isNumber: true,
          of: (point: Point) => {
            const value = of(point);
            return value === null ? '–' : format(value);
          },
        })),
      ],
      [...this.#points].reverse().slice(0, ROWS),
    );
  }
}

/** Returns where the point nearest to the pointer is, so that the line stands at the time in the legend. Pixels. */
function nearest(plot: uPlot, left: number): number {
  const at = left < 0 ? undefined : plot.data[0][plot.posToIdx(left)];
  return at === undefined ? left : plot.valToPos(at, 'x');
}

/** Ticks of a logarithmic time axis in seconds, which are round in the units of their labels. */
const TIME_TICKS = [0.001, 0.01, 0.1, 1, 10, 60, 600, 3_600, 36_000, 86_400, 864_000] as const;

function secondsWord(seconds: number): string {
  if (seconds < 1) return `${1_000 * seconds} ms`;
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${seconds / 60} min`;
  return seconds < 86_400 ? `${seconds / 3_600} h` : `${seconds / 86_400} d`;
}

/** The names of the lines, with their values at one point if there is one. */
class Legend {
  readonly element = h('ul', { class: 'legend' });
  readonly #spec: ChartSpec;
  readonly #values: readonly HTMLElement[];
  readonly #time = h('li', { class: 'time' });

  constructor(spec: ChartSpec) {
    this.#spec = spec;
    this.#values = spec.lines.map(() => h('span', { class: 'value' }));
    this.element.append(
      ...spec.lines.map(({ label, colour: name, dash }, at) =>
        h(
          'li',
          {},
          h('span', { class: `line ${name}${dash === undefined ? '' : ' dashed'}` }),
          label,
          this.#values[at],
        ),
      ),
      this.#time,
    );
  }

  show(point: Point | undefined): void {
    const { lines, format } = this.#spec;
    for (const [at, { of }] of lines.entries()) {
      const value = point === undefined ? undefined : of(point);
      this.#values[at]!.textContent = value === undefined ? '' : value === null ? '–' : format(value);
    }
    this.#time.textContent = point === undefined ? '' : `at ${TIMES.format(1_000 * point.at)}`;
  }
}
