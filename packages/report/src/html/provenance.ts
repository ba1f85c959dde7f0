import type { Comparison, OptionValue, Run } from '../comparison.js';
import { html, type Markup } from '../markup.js';
import { whole } from '../numbers.js';
import { section, table } from './elements.js';
import { runsTable } from './summary-tables.js';

/** What the page says about itself beyond the comparison. */
export interface PageMeta {
  /** The command line that makes the page again. */
  readonly command: string;
  /** Name and version of the program, "goshawk 0.1.0". */
  readonly generator: string;
  /** A sentence under the heading: a scale, a caveat. */
  readonly note?: string;
}

/** Options that the page shows elsewhere for every run. */
const OWN_PLACE = new Set(['policy', 'seed']);

/** All that it takes to make the page again: workload, hash, cluster, seeds, options, command. */
export function provenanceSection(comparison: Comparison, meta: PageMeta): Markup {
  const { workload, cluster, runs } = comparison;
  const seeds = [...new Set(runs.map(({ seed }) => seed))];
  return section(
    'How this was made',
    html`<dl><dt>Workload</dt><dd>${workload.name}</dd>
<dt>SHA-256 of the workload</dt><dd><code>${workload.sha256}</code></dd>
<dt>Cluster</dt><dd>${cluster.mode}: ${whole(cluster.workers)} workers × ${cluster.slots === 0 ? 'no slots' : cluster.slots}, ${whole(cluster.schedulers)} schedulers</dd>
<dt>${seeds.length === 1 ? 'Seed' : 'Seeds'}</dt><dd>${seeds.join(', ')}</dd>
<dt>Made by</dt><dd>${meta.generator}</dd>
<dt>To make it again</dt><dd><pre><code>${unbrokenFlags(meta.command)}</code></pre></dd></dl>`,
    html`<h3>Options</h3>`,
    options(comparison),
    html`<h3>Runs</h3>`,
    runsTable(comparison),
  );
}

/** Lines break before a flag, never within one: a browser takes each hyphen for a place to do so. */
function unbrokenFlags(command: string): Markup[] {
  return command
    .split(/(?<= )(?=--)/)
    .map((part) => (part.startsWith('--') ? html`<span class="flag">${part}</span>` : html`${part}`));
}

/** What all policies shared as a list, and what set them apart as a table of a column a policy. */
function options({ runs }: Comparison): Markup {
  const policies = [...new Set(runs.map(({ policy }) => policy))];
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.options)))].filter(
    (name) => !OWN_PLACE.has(name),
  );
  const rows = names.map((name) => ({
    name,
    values: policies.map((policy) =>
      valuesOf(
        name,
        runs.filter((run) => run.policy === policy),
      ),
    ),
  }));
  const shared = rows.filter(({ values }) => new Set(values).size === 1);
  const apart = rows.filter(({ values }) => new Set(values).size > 1);
  return html`${shared.length === 0 ? null : html`<ul class="options">${shared.map(({ name, values }) => html`<li>${name} <b>${values[0]!}</b></li>`)}</ul>`}${
    apart.length === 0
      ? null
      : table(
          'differ in',
          policies.map((title) => ({ title })),
          apart.map(({ name, values }) => ({ head: name, cells: values })),
        )
  }`;
}

function valuesOf(name: string, runs: readonly Run[]): string {
  return [...new Set(runs.map((run) => optionText(run.options[name])))].join(', ');
}

function optionText(value: OptionValue | undefined): string {
  if (value === undefined || value === null) return '–';
  // Ratios that were worked out have digits that say nothing; the command line has what was given.
  if (typeof value === 'number') return String(Number(value.toPrecision(6)));
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
