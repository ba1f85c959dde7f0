import { formatCount } from '@goshawk/core';
import { figure, html, type Markup, percentileTable, renderDocument, section, table } from '@goshawk/report';
import { format } from '../format.js';
import type { FigureResult, JudgedClaim, MeasuredPanel } from '../result.js';
import { describe, drawingOf, unitOf } from './drawings.js';
import { VERDICT_MARKS, verdictLine } from './verdicts.js';

/** A figure as one HTML file, without scripts and without network: charts, numbers, claims, and how it was made. */
export function renderFigurePage(result: FigureResult): string {
  const { id, title, about, paper, panels } = result;
  const charts = panels.flatMap((panel, index) => chartOf(result, panel, `p${index + 1}`) ?? []);
  const tables = panels.filter(({ kind }) => kind === 'table');
  return renderDocument(
    `${id}: ${title}`,
    html`<header><h1>${title}</h1>
<p>${about}</p>
<p>${paper.reference}, ${paper.section}.</p></header>
<section><div class="pair">${charts}${charts.length === 1 ? html`<div></div>` : null}</div></section>
${tables.map((panel) => section(panel.title, numbersOf(result, panel)))}
${section('What is claimed, and what came out here', html`<p>${verdictLine(result.verdicts)}.</p>`, claimList(result.claims))}
${provenance(result)}`,
  );
}

function chartOf(result: FigureResult, panel: MeasuredPanel, id: string): Markup | undefined {
  const drawing = drawingOf(result, panel);
  if (drawing === undefined) return undefined;
  const { title } = panel;
  return figure({ ...drawing, id, title, label: describe(result, panel), numbers: numbersOf(result, panel) });
}

function numbersOf({ axis }: FigureResult, panel: MeasuredPanel): Markup {
  if (panel.percentiles !== undefined) {
    const rows = Object.entries(panel.percentiles).map(([head, values]) => ({
      head,
      at: (percent: number) => format(values[percent], unitOf(panel)),
    }));
    return percentileTable('', rows);
  }
  const rows = panel.series.flatMap(({ name, unit, values, paper, spread }) => {
    const show = (value: number | null) => format(value ?? undefined, unit);
    return [
      { head: name, cells: values.map(show) },
      ...(spread === undefined
        ? []
        : [
            {
              head: html`<small>${name}, over the seeds</small>`,
              cells: spread.map((range) => (range === null ? '–' : `${show(range[0])}–${show(range[1])}`)),
            },
          ]),
      ...(paper === undefined
        ? []
        : [
            {
              head: html`<small>${name}, paper</small>`,
              cells: paper.map((value) => (value === null ? '' : show(value))),
            },
          ]),
    ];
  });
  return table(
    axis.name,
    axis.places.map(({ label }) => ({ title: label })),
    rows,
  );
}

function claimList(claims: readonly JudgedClaim[]): Markup {
  return html`<dl>${claims.map(
    ({ verdict, section: where, text, ours }) =>
      html`<dt><b>${VERDICT_MARKS[verdict]} ${verdict}</b></dt><dd>${where}: ${text}<br><small>here: ${ours}</small></dd>
`,
  )}</dl>`;
}

function provenance({ workload, workers, mode, seeds, runs, command, generator }: FigureResult): Markup {
  return section(
    'How this was made',
    html`<dl><dt>Workload</dt><dd>${workload.name}</dd>
<dt>SHA-256 of the workload</dt><dd><code>${workload.sha256}</code></dd>
<dt>Jobs, tasks</dt><dd>${formatCount(workload.jobs)}, ${formatCount(workload.tasks)}</dd>
${
  workers === null
    ? null
    : html`<dt>Workers</dt><dd>${formatCount(workers)}</dd>
`
}${
  runs.length === 0
    ? null
    : html`<dt>Runs</dt><dd>${runs.length}, ${mode === 'live' ? 'live and simulated' : 'simulated'}; their numbers and options are in the JSON file</dd>
`
}<dt>${seeds.length === 1 ? 'Seed' : 'Seeds'}</dt><dd>${seeds.join(', ')}</dd>
<dt>Made by</dt><dd>${generator}</dd>
<dt>To make it again</dt><dd><pre><code>${command}</code></pre></dd></dl>`,
  );
}
