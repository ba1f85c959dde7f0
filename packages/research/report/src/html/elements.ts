import { sumOf } from '@goshawk/core';
import type { ChartDrawing, LegendEntry, SwatchKind } from '../charts/drawing.js';
import type { LineLook } from '../charts/palette.js';
import { renderSvg } from '../charts/svg.js';
import { SWATCH_HEIGHT, swatchBody, swatchWidth } from '../charts/swatch.js';
import type { Columns } from '../columns.js';
import { type Content, html, Markup, type SavedChart, trusted } from '../markup.js';

/** Renders a sample of a series as the charts draw it. */
export function swatch(look: LineLook, kind: SwatchKind = 'line'): Markup {
  const width = swatchWidth(kind);
  return html`<svg class="swatch" width="${width}" viewBox="0 0 ${width} ${SWATCH_HEIGHT}" aria-hidden="true">${trusted(
    swatchBody(look, kind),
  )}</svg>`;
}

/** Renders the names of series beside their symbols. */
function legend(entries: readonly LegendEntry[]): Markup {
  return html`<ul class="legend">${entries.map(({ name, look, kind }) => html`<li>${swatch(look, kind)}${name}</li>`)}</ul>`;
}

/** Renders the legend of charts with one line per policy. */
export function policyLegend(
  policies: readonly { readonly policy: string; readonly look: LineLook }[],
  kind: SwatchKind = 'line',
): Markup {
  return legend(policies.map(({ policy, look }) => ({ name: policy, look, kind })));
}

export interface HtmlColumn {
  readonly title: Content;
  /** Name above a group of columns. */
  readonly group?: string;
}

export interface HtmlRow {
  readonly head: Content;
  readonly cells: readonly Content[];
}

/** Renders a table whose first column names the rows and whose other columns are numbers. */
export function table(corner: Content, columns: readonly HtmlColumn[], rows: readonly HtmlRow[]): Markup {
  const groups: { name: string; span: number }[] = [];
  for (const { group = '' } of columns) {
    const last = groups.at(-1);
    if (last?.name === group) last.span += 1;
    else groups.push({ name: group, span: 1 });
  }
  const starts = new Set(groups.map((_, index) => sumOf(groups.slice(0, index), ({ span }) => span)));
  const grouped = groups.some(({ name }) => name !== '');
  const edge = (index: number) => trusted(grouped && starts.has(index) ? ' class="edge"' : '');
  const groupRow = grouped
    ? html`<tr><td></td>${groups.map(
        ({ name, span }) => html`<th scope="colgroup" class="edge" colspan="${span}">${name}</th>`,
      )}</tr>`
    : null;
  return html`<div class="scroll"><table><thead>${groupRow}<tr><th scope="col">${corner}</th>${columns.map(
    ({ title }, index) => html`<th scope="col"${edge(index)}>${title}</th>`,
  )}</tr></thead><tbody>
${rows.map(
  ({ head, cells }) =>
    html`<tr><th scope="row">${head}</th>${cells.map((cell, index) => html`<td${edge(index)}>${cell}</td>`)}</tr>
`,
)}</tbody></table></div>`;
}

/** Renders a table with the same columns as on a terminal, after a column that names each row. */
export function columnTable<T>(
  corner: Content,
  columns: Columns<T>,
  rows: readonly T[],
  head: (row: T) => Content,
): Markup {
  return table(
    corner,
    columns.map(([title]) => ({ title })),
    rows.map((row) => ({ head: head(row), cells: columns.map(([, cell]) => cell(row)) })),
  );
}

const TABLE_PERCENTS = [1, 10, 25, 50, 75, 90, 95, 99, 100];

/** Renders percentiles of several samples, one row each. */
export function percentileTable(
  corner: Content,
  rows: readonly { readonly head: Content; readonly at: (percent: number) => string }[],
): Markup {
  return table(
    corner,
    TABLE_PERCENTS.map((percent) => ({ title: percent === 100 ? 'max' : `p${percent}` })),
    rows.map(({ head, at }) => ({ head, cells: TABLE_PERCENTS.map(at) })),
  );
}

const CHART_WIDTH = 500;
const CHART_HEIGHT = 310;
/** Size of a separate picture, which has its title and legend inside. */
const FILE_WIDTH = 720;
const FILE_HEAD = 100;

interface Figure {
  /** Unique on the page. */
  readonly id: string;
  readonly title: string;
  /** Title of the separate picture, which lacks the heading of the section; default: `title`. */
  readonly alone?: string;
  /** Description of the chart and its main numbers, for users who cannot see it. */
  readonly label: string;
  readonly drawing: ChartDrawing;
  readonly height?: number;
  /** Shown if it has more than one entry. */
  readonly legend?: readonly LegendEntry[];
  /** The numbers as a table, for readers who cannot or prefer not to read a chart. */
  readonly numbers: Markup;
}

/** Renders a chart with its title and numbers, in the colors and the font of the page. */
export function figure(of: Figure): Markup {
  const {
    id,
    title,
    alone = title,
    label,
    drawing,
    height = CHART_HEIGHT,
    legend: entries = [],
    numbers,
  } = of;
  const chart = drawing.draw({ width: CHART_WIDTH, height });
  const saved: SavedChart = {
    id,
    svg: () =>
      renderSvg(
        { ...drawing, title: alone, description: label, id },
        { width: FILE_WIDTH, height: height + FILE_HEAD },
      ),
    values: () =>
      drawing.series.flatMap(({ name, points }) => points.map(({ x, y }) => ({ series: name, x, y }))),
  };
  const { text } =
    html`<figure><figcaption>${title}</figcaption>${entries.length > 1 ? legend(entries) : null}<svg viewBox="0 0 ${CHART_WIDTH} ${height}" role="img" aria-label="${label}">${trusted(chart)}</svg>
<details><summary>Numbers</summary>${numbers}</details></figure>`;
  return new Markup(text, [saved]);
}

/** Renders figures side by side; null if none has content. */
export function pair(figures: readonly (Markup | null)[]): Markup | null {
  return figures.every((each) => each === null) ? null : html`<div class="pair">${figures}</div>`;
}

export function section(title: string, ...content: readonly Content[]): Markup {
  return html`<section><h2>${title}</h2>${content}</section>
`;
}
