import type { EChartsCoreOption } from 'echarts/core';
import { draw } from '../charts/draw.js';
import { toVariables } from '../charts/palette.js';
import { html, type Markup, trusted } from '../markup.js';

const CHART_WIDTH = 500;
const CHART_HEIGHT = 310;

interface InlineChart {
  /** Unique on the page. */
  readonly id: string;
  /** What the chart shows and the main numbers on it, for who cannot see it. */
  readonly label: string;
  readonly option: EChartsCoreOption;
  readonly height?: number;
}

/** Draws a chart as an SVG in the page, which takes its colours and its font from it. */
export function renderChart({ id, label, option, height = CHART_HEIGHT }: InlineChart): Markup {
  const body = toVariables(draw(option, { width: CHART_WIDTH, height }, id));
  const viewBox = `0 0 ${CHART_WIDTH} ${height}`;
  return html`<svg viewBox="${viewBox}" role="img" aria-label="${label}">${trusted(body)}</svg>`;
}
