import type { LineLook } from '../charts/palette.js';
import { SWATCH_HEIGHT, swatchBody, swatchWidth } from '../charts/swatch.js';
import { type Content, html, type Markup, trusted } from '../markup.js';
import type { PolicyView } from './policy.js';

/** A piece of a policy's line, as the charts draw it. */
export function swatch(look: LineLook): Markup {
  return html`<svg class="swatch" viewBox="0 0 ${swatchWidth('line')} ${SWATCH_HEIGHT}" aria-hidden="true">${trusted(
    swatchBody(look, `var(--${look.color})`, 'line'),
  )}</svg>`;
}

/** The names of the policies beside their lines. */
export function legend(policies: readonly PolicyView[]): Markup {
  const entries = policies.map(({ policy, look }) => html`<li>${swatch(look)}${policy}</li>`);
  return html`<ul class="legend">${entries}</ul>`;
}

export interface Column {
  readonly title: Content;
  /** Columns of one group stand under its name. */
  readonly group?: string;
}

export interface Row {
  readonly head: Content;
  readonly cells: readonly Content[];
}

/** A table whose first column names the rows and whose others are numbers. */
export function table(corner: Content, columns: readonly Column[], rows: readonly Row[]): Markup {
  const groups: { name: string; span: number }[] = [];
  for (const { group = '' } of columns) {
    const last = groups.at(-1);
    if (last?.name === group) last.span += 1;
    else groups.push({ name: group, span: 1 });
  }
  const starts = new Set(
    groups.map((_, index) => groups.slice(0, index).reduce((sum, { span }) => sum + span, 0)),
  );
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

/** A chart with its title, and its numbers as a table for who cannot or would rather not read a chart. */
export function figure(title: Content, chart: Markup, numbers: Markup): Markup {
  return html`<figure><figcaption>${title}</figcaption>${chart}
<details><summary>Numbers</summary>${numbers}</details></figure>`;
}

export function section(title: string, ...content: readonly Content[]): Markup {
  return html`<section><h2>${title}</h2>${content}</section>
`;
}
