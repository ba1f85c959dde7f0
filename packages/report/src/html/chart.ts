import { BarChart, LineChart } from 'echarts/charts';
import { GridComponent, MarkLineComponent } from 'echarts/components';
import { type EChartsCoreOption, init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { html, type Markup, trusted, visible } from './markup.js';
import { sentinel, toVariables } from './palette.js';
import type { Scale } from './ticks.js';

use([LineChart, BarChart, GridComponent, MarkLineComponent, SVGRenderer]);

export const CHART_WIDTH = 500;
export const CHART_HEIGHT = 310;
export const FONT_SIZE = 13;

export interface Chart {
  /** Unique on the page. */
  readonly id: string;
  /** What the chart shows and the main numbers on it, for who cannot see it. */
  readonly label: string;
  readonly option: EChartsCoreOption;
  readonly height?: number;
}

/** Draws a chart as an inline SVG that takes its colours and its font from the page. */
export function renderChart(chart: Chart): Markup {
  const height = chart.height ?? CHART_HEIGHT;
  const instance = init(null, null, { renderer: 'svg', ssr: true, width: CHART_WIDTH, height });
  try {
    instance.setOption({ animation: false, textStyle: { fontFamily: 'inherit' }, ...chart.option });
    const body = inlined(instance.renderToSVGString(), chart.id);
    const viewBox = `0 0 ${CHART_WIDTH} ${height}`;
    return html`<svg viewBox="${viewBox}" role="img" aria-label="${chart.label}">${trusted(body)}</svg>`;
  } finally {
    instance.dispose();
  }
}

/**
 * What stands inside the library's `<svg>`, without its hover styles and bookkeeping, and with ids of the
 * page's own: the library numbers them by process, so that two charts of two pages would differ.
 * All patterns need a raw quote or bracket, which the library never leaves in text.
 */
function inlined(svg: string, id: string): string {
  const body = svg
    .replace(/^<svg[^>]*>/, '')
    .replace(/<\/svg>\s*$/, '')
    .replaceAll(/<style >[\s\S]*?<\/style>/g, '')
    .replace(/<rect [^>]*fill="none"><\/rect>/, '')
    .replaceAll(/ (?:class|pointer-events|ecmeta_[a-z_]+)="[^"]*"/g, '')
    .replaceAll(/(id="|="url\(#)zr\d+-/g, `$1${id}-`)
    .replaceAll(/\n+/g, '\n')
    .trim();
  return toVariables(body);
}

const AXIS_COMMON = {
  nameLocation: 'middle',
  nameTextStyle: { color: sentinel('muted'), fontSize: FONT_SIZE },
  // At the edge also where 0 lies inside, as the logarithm of 1 often does.
  axisLine: { show: true, onZero: false, lineStyle: { color: sentinel('rule') } },
} as const;

export interface Axis {
  readonly scale: Scale;
  readonly format: (value: number) => string;
  readonly name: string;
  /** Room between the axis and its name. */
  readonly nameGap: number;
  readonly splitLines?: boolean;
}

/** A numeric axis with exactly the ticks of its scale. */
export function valueAxis(axis: Axis) {
  const { min, max, ticks } = axis.scale;
  return {
    ...AXIS_COMMON,
    type: 'value',
    name: axis.name,
    nameGap: axis.nameGap,
    min,
    max,
    axisTick: { show: true, customValues: [...ticks], lineStyle: { color: sentinel('rule') } },
    axisLabel: {
      customValues: [...ticks],
      formatter: axis.format,
      color: sentinel('muted'),
      fontSize: FONT_SIZE,
      hideOverlap: true,
    },
    splitLine: { show: axis.splitLines ?? true, lineStyle: { color: sentinel('grid') } },
  } as const;
}

/** An axis of names; those wider than `labelWidthMax` are cut. */
export function categoryAxis(names: readonly string[], labelWidthMax = CHART_WIDTH) {
  return {
    ...AXIS_COMMON,
    type: 'category',
    data: names.map(visible),
    axisTick: { show: false },
    axisLabel: {
      color: sentinel('text'),
      fontSize: FONT_SIZE,
      interval: 0,
      width: labelWidthMax,
      overflow: 'truncate',
    },
    splitLine: { show: false },
  } as const;
}
