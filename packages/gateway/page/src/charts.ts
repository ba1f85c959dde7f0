import { behind, duration, h, table } from './dom.js';
import type { Point } from './shapes.js';
import uPlot from './uplot.js';
import { colour, onScheme } from './view.js';

interface Line {
  readonly label: string;
  /** A colour of the style sheet. */
  readonly colour: string;
  readonly dash?: readonly number[];
  readonly of: (point: Point) => number | null;
}

export interface ChartSpec {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  /** From short to long delays there are four orders of magnitude. */
  readonly isLog?: boolean;
}

const TIMES = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const HEIGHT = 190;
/** Rows of the table behind a chart, the newest. */
const ROWS = 60;

export const CHARTS: readonly ChartSpec[] = [
  {
    title: 'Throughput, tasks a second',
    format: (value) => `${Number(value.toPrecision(3))}`,
    lines: [
      { label: 'short', colour: 'short', of: ({ short }) => short.tasksPerSecond },
      { label: 'long', colour: 'long', of: ({ long }) => long.tasksPerSecond },
    ],
  },
  {
    title: 'Scheduling delay of tasks',
    format: duration,
    isLog: true,
    lines: [
      { label: 'short p50', colour: 'short', of: ({ short }) => short.delaySeconds?.p50 ?? null },
      {
        label: 'short p99',
        colour: 'short',
        dash: [4, 3],
        of: ({ short }) => short.delaySeconds?.p99 ?? null,
      },
      { label: 'long p50', colour: 'long', of: ({ long }) => long.delaySeconds?.p50 ?? null },
      { label: 'long p99', colour: 'long', dash: [4, 3], of: ({ long }) => long.delaySeconds?.p99 ?? null },
    ],
  },
  {
    title: 'Run time of jobs',
    format: duration,
    isLog: true,
    lines: [
      { label: 'short p50', colour: 'short', of: ({ short }) => short.runSeconds?.p50 ?? null },
      { label: 'short p90', colour: 'short', dash: [4, 3], of: ({ short }) => short.runSeconds?.p90 ?? null },
      { label: 'long p50', colour: 'long', of: ({ long }) => long.runSeconds?.p50 ?? null },
      { label: 'long p90', colour: 'long', dash: [4, 3], of: ({ long }) => long.runSeconds?.p90 ?? null },
    ],
  },
];

/** A chart of an hour, with its table behind it. */
export class Chart {
  readonly element: HTMLElement;
  readonly #spec: ChartSpec;
  readonly #place = h('div', { class: 'chart' });
  #plot: uPlot | undefined;
  #points: readonly Point[] = [];

  constructor(spec: ChartSpec, signal: AbortSignal) {
    this.#spec = spec;
    this.#place.setAttribute('role', 'img');
    this.#place.setAttribute(
      'aria-label',
      `${spec.title}: a chart of the last hour; the table below has its numbers`,
    );
    this.element = h(
      'section',
      { class: 'card' },
      h('h2', {}, spec.title),
      legend(spec),
      this.#place,
      behind('Table', () => this.#table()),
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
  }

  #data(): uPlot.AlignedData {
    const positive = (value: number | null) =>
      this.#spec.isLog && value !== null && value <= 0 ? null : value;
    return [
      this.#points.map(({ at }) => at),
      ...this.#spec.lines.map(({ of }) => this.#points.map((point) => positive(of(point)))),
    ];
  }

  #draw(): void {
    this.#plot?.destroy();
    const { lines, format, isLog = false } = this.#spec;
    const axis = {
      stroke: colour('quiet'),
      grid: { stroke: colour('line'), width: 1 },
      ticks: { show: false },
    };
    const values = (_: unknown, splits: readonly number[]) =>
      // Of a logarithmic axis, powers of ten alone are named.
      splits.map((split) => (isLog && !Number.isInteger(Math.log10(split)) ? '' : format(split)));
    this.#plot = new uPlot(
      {
        width: Math.max(200, this.#place.clientWidth),
        height: HEIGHT,
        legend: { show: false },
        cursor: { show: false },
        scales: {
          // At least ten minutes, so that the first points are no wall.
          x: { time: true, range: (_, from, to) => [Math.min(from, to - 600), to] },
          y: isLog ? { distr: 3, log: 10 } : { range: (_, __, to) => [0, Math.max(1, 1.1 * to)] },
        },
        axes: [
          { ...axis, values: (_, splits) => splits.map((at) => TIMES.format(1_000 * at)), space: 60 },
          { ...axis, values, size: 62, space: 28 },
        ],
        series: [
          {},
          ...lines.map(({ label, colour: name, dash }) => ({
            label,
            stroke: colour(name),
            width: 2,
            spanGaps: true,
            points: { size: 5 },
            ...(dash === undefined ? {} : { dash: [...dash] }),
          })),
        ],
      },
      this.#data(),
      this.#place,
    );
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

function legend({ lines }: ChartSpec): HTMLElement {
  return h(
    'ul',
    { class: 'legend' },
    lines.map(({ label, colour: name, dash }) =>
      h('li', {}, h('span', { class: `key ${name}${dash === undefined ? '' : ' dashed'}` }), label),
    ),
  );
}
