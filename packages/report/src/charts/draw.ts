import { createRequire } from 'node:module';
import type { EChartsCoreOption } from 'echarts/core';
import { html } from '../markup.js';

/**
 * Loads the library at the first chart, since it would delay commands that draw none. Its single-file build
 * loads three times as fast as its 600 modules.
 */
function library(): Pick<typeof import('echarts'), 'init'> {
  loaded ??= createRequire(import.meta.url)('echarts') as typeof import('echarts');
  return loaded;
}

let loaded: typeof import('echarts') | undefined;

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** A value of a chart. */
export interface ChartPoint {
  readonly x: number | string;
  /** Null: a gap. */
  readonly y: number | null;
  /** Shown while the pointer is on it. */
  readonly text: string;
  /** Its coordinates in the chart, for lines, which have few elements. */
  readonly at?: readonly [x: number, y: number];
}

/** The values of one series. */
export interface ChartSeries {
  readonly name: string;
  readonly points: readonly ChartPoint[];
}

/** A chart for the library, with its values in the order of the option's series. */
export interface Drawable {
  readonly option: EChartsCoreOption;
  readonly series: readonly ChartSeries[];
}

/** Maximum number of tooltips of a line: the more lines, the fewer, so that pages of many policies stay small. */
const tooltipsMax = (lines: number): number => Math.max(1, Math.floor(36 / lines) - 4);
const TARGET_RADIUS = 6;

/**
 * Draws a chart as the content of an `<svg>`, in the colors of the option. Values are tooltips, which need no
 * script. The library's hover styles and bookkeeping are removed, and ids begin with `id`: the library numbers them
 * by process, so the output would not be reproducible.
 */
export function draw({ option, series }: Drawable, { width, height }: Size, id: string): string {
  const instance = library().init(null, null, { renderer: 'svg', ssr: true, width, height });
  try {
    instance.setOption({ animation: false, textStyle: { fontFamily: 'inherit' }, ...option });
    const targets = series.flatMap(({ points }, seriesIndex) =>
      pointsWithTooltip(points, tooltipsMax(series.length)).map(({ text, at }) => {
        const [x, y] = instance.convertToPixel({ seriesIndex }, [...at!]) as [number, number];
        return `<circle cx="${Math.round(x)}" cy="${Math.round(y)}" r="${TARGET_RADIUS}">${titleOf(text)}</circle>`;
      }),
    );
    const chart = inlined(withTitles(instance.renderToSVGString(), series), id);
    return targets.length === 0
      ? chart
      : `${chart}\n<g class="targets" fill-opacity="0">\n${targets.join('\n')}\n</g>`;
  } finally {
    instance.dispose();
  }
}

/** Points with coordinates, spread evenly if there are many. */
function pointsWithTooltip(points: readonly ChartPoint[], max: number): readonly ChartPoint[] {
  const placed = points.filter(({ at }) => at !== undefined);
  if (placed.length <= max) return placed;
  const last = placed.length - 1;
  return Array.from(
    { length: max },
    (_, index) => placed[Math.round((index * last) / Math.max(1, max - 1))]!,
  );
}

function titleOf(text: string): string {
  return html`<title>${text}</title>`.text;
}

/** Adds a tooltip to each bar, which the library labels with the indices of its series and value. */
function withTitles(svg: string, series: readonly ChartSeries[]): string {
  return svg.replaceAll(
    /<path ([^>]*ecmeta_ssr_type="chart"[^>]*)><\/path>/g,
    (whole, attributes: string) => {
      const [, ofSeries] = /ecmeta_series_index="(\d+)"/.exec(attributes) ?? [];
      const [, ofPoint] = /ecmeta_data_index="(\d+)"/.exec(attributes) ?? [];
      if (ofSeries === undefined || ofPoint === undefined) return whole;
      const point = series[Number(ofSeries)]?.points[Number(ofPoint)];
      if (point === undefined || point.at !== undefined) return whole;
      return `<path ${attributes}>${titleOf(point.text)}</path>`;
    },
  );
}

/** Removes the library's additions. All patterns need a raw quote or bracket, which text never contains. */
function inlined(svg: string, id: string): string {
  return svg
    .replace(/^<svg[^>]*>/, '')
    .replace(/<\/svg>\s*$/, '')
    .replaceAll(/<style >[\s\S]*?<\/style>/g, '')
    .replace(/<rect [^>]*fill="none"><\/rect>/, '')
    .replaceAll(/ (?:class|pointer-events|ecmeta_[a-z_]+)="[^"]*"/g, '')
    .replaceAll(/(id="|="url\(#)zr\d+-/g, `$1${id}-`)
    .replaceAll(/\n+/g, '\n')
    .trim();
}
