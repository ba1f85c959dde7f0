import { wrapWords } from '@goshawk/core';
import { html, trusted } from '../markup.js';
import { FONT_SIZE, LETTER_WIDTH } from './axes.js';
import type { ChartDrawing, LegendEntry, Size } from './drawing.js';
import { color, toLiterals } from './palette.js';
import { swatchBody, swatchWidth } from './swatch.js';

const MARGIN = 16;
const TITLE_SIZE = 16;
const TITLE_HEIGHT = 26;
const TITLE_ROW = 20;
/** Width of a bold letter of the title, in the widest of the fonts. */
const TITLE_LETTER = 10.2;
const LEGEND_ROW = 22;
const LEGEND_GAP = 24;
const SWATCH_GAP = 8;
/** A chart with many legend entries becomes higher, so that this height is left for the plot with its axes. */
const PLOT_LEAST = 190;
/** Document readers have at least one of these fonts or an equivalent. */
export const FONTS = 'Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif';

interface SvgChart extends ChartDrawing {
  /** The title above the chart, which is also its accessible name. */
  readonly title: string;
  /** Description of the chart and its main numbers, for users who cannot see it. */
  readonly description?: string;
  /** Prefix of all ids; needed if a page has several charts. */
  readonly id?: string;
}

/**
 * Renders a chart as a standalone SVG file with title and legend: literal colors on an explicit background,
 * common fonts, no scripts and no references. The same input gives the same bytes.
 */
export function renderSvg({ title, description, draw, legend, id = 'chart' }: SvgChart, size: Size): string {
  const { width } = size;
  const rows = legendRows(legend.length > 1 ? legend : [], width - 2 * MARGIN);
  const titles = wrapWords(title, Math.floor((width - 2 * MARGIN) / TITLE_LETTER));
  const legendTop = MARGIN + TITLE_HEIGHT + (titles.length - 1) * TITLE_ROW;
  const top = legendTop + rows.length * LEGEND_ROW;
  const height = Math.max(size.height, top + PLOT_LEAST);
  const chart = draw({ width, height: height - top });
  const described =
    description === undefined ? null : html`<desc id="${id}-description">${description}</desc>`;
  const svg = html`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="${id}-title${
    described === null ? '' : ` ${id}-description`
  }" font-family="${FONTS}" font-size="${FONT_SIZE}">
<title id="${id}-title">${title}</title>${described}
<rect width="${width}" height="${height}" fill="${color('page')}"/>
${titles.map(titleRow)}${rows.map((row, index) => row.map((entry) => legendEntry(entry, legendTop + index * LEGEND_ROW)))}<g transform="translate(0 ${top})">
${trusted(chart)}
</g>
</svg>
`;
  return toLiterals(svg.text, 'light');
}

function titleRow(text: string, index: number) {
  const y = MARGIN + TITLE_SIZE + index * TITLE_ROW;
  return html`<text x="${MARGIN}" y="${y}" font-size="${TITLE_SIZE}" font-weight="600" fill="${color('text')}">${text}</text>
`;
}

interface PlacedEntry extends LegendEntry {
  readonly x: number;
}

/** Arranges legend entries side by side, in as many rows as necessary. */
function legendRows(legend: readonly LegendEntry[], width: number): PlacedEntry[][] {
  const rows: PlacedEntry[][] = [];
  let x = width;
  for (const entry of legend) {
    const room = swatchWidth(entry.kind) + SWATCH_GAP + entry.name.length * LETTER_WIDTH;
    if (x + room > width || rows.length === 0) {
      rows.push([]);
      x = 0;
    }
    rows.at(-1)!.push({ ...entry, x: x + MARGIN });
    x += room + LEGEND_GAP;
  }
  return rows;
}

function legendEntry({ name, look, kind, x }: PlacedEntry, y: number) {
  return html`<g transform="translate(${x} ${y + 5})">${trusted(swatchBody(look, kind))}<text x="${
    swatchWidth(kind) + SWATCH_GAP
  }" y="10.5" fill="${color('text')}">${name}</text></g>
`;
}
