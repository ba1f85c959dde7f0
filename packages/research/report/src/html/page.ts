import { counted } from '@goshawk/core';
import { renderSheet } from '../charts/sheet.js';
import type { Comparison } from '../comparison.js';
import { csvOf } from '../csv.js';
import { html, type Markup, type SavedChart } from '../markup.js';
import { duration, unbroken, whole } from '../numbers.js';
import type { RunSeries } from '../run.js';
import { estimatesInWords, workersInWords, workloadInWords } from '../summary.js';
import { renderDocument } from './document.js';
import { type PolicyView, viewPolicies } from './policy.js';
import { type PageMeta, provenanceSection } from './provenance.js';
import { ratioSection } from './ratio-bars.js';
import { runtimeSection } from './runtime-cdf.js';
import { shadowSection } from './shadow-section.js';
import { costSection, headlineCards, predictorTable, runtimeTables } from './summary-tables.js';
import { timePartsSection } from './time-parts.js';
import { timelineSection } from './timelines.js';

const NAMED_IN_TITLE_MAX = 3;

/** The page of a comparison, and its charts as one picture with their values. Both are rendered on demand. */
export interface Report {
  readonly page: string;
  readonly charts: readonly SavedChart[];
  /** All charts as one SVG file. */
  picture(): string;
  /** Their values as tidy CSV. */
  values(): string;
}

/**
 * Renders a comparison as one HTML file without scripts and network access: tables, charts, and the
 * information to reproduce it. The same input gives the same bytes. Charts without data in `series` are
 * omitted, so the JSON of a comparison suffices for a page without distributions and ratios by percentile.
 *
 * @throws ComparisonError if a series belongs to a policy that the comparison lacks.
 */
export function renderReport(comparison: Comparison, series: readonly RunSeries[], meta: PageMeta): Report {
  const policies = viewPolicies(comparison, series);
  const title = titleOf(policies);
  const body = html`<header><h1>${title}</h1>
${introduction(comparison)}${meta.note === undefined ? null : html`<p>${meta.note}</p>`}
${headlineCards(policies, comparison.ratios)}</header>
${[
  runtimeTables(policies, comparison),
  runtimeSection(policies),
  ratioSection(policies, comparison.ratios),
  timePartsSection(policies),
  timelineSection(policies, comparison),
  costSection(policies),
  predictorTable(comparison),
  shadowSection(comparison),
  provenanceSection(comparison, meta),
]}`;
  const { charts } = body;
  return {
    page: renderDocument(title, body),
    charts,
    picture: () =>
      renderSheet(
        title,
        charts.map(({ svg }) => svg()),
        inWords(comparison),
      ),
    values: () =>
      `${csvOf(charts.flatMap(({ id, values }) => values().map((each) => ({ chart: id, ...each }))))}\n`,
  };
}

function titleOf(policies: readonly PolicyView[]): string {
  const [first, ...others] = policies.map(({ policy }) => policy);
  if (others.length === 0) return first!;
  if (others.length > NAMED_IN_TITLE_MAX) return `${first} against ${others.length} other policies`;
  return `${first} against ${new Intl.ListFormat('en', { type: 'conjunction' }).format(others)}`;
}

function introduction(comparison: Comparison): Markup {
  return html`<p>${inWords(comparison)}</p>`;
}

function inWords(comparison: Comparison): string {
  const { workload, cluster, runs } = comparison;
  const seeds = new Set(runs.map(({ seed }) => seed)).size;
  const schedulers = cluster.schedulers === 1 ? 'one scheduler' : `${whole(cluster.schedulers)} schedulers`;
  const estimates = estimatesInWords(comparison);
  return (
    `${workloadInWords(workload.name)}: ${counted(workload.jobs, 'job')} with ${counted(workload.tasks, 'task')},\n` +
    `${unbroken(duration(workload.taskSeconds))} of work submitted over ${unbroken(duration(workload.spanSeconds))}, on\n` +
    `${workersInWords(comparison)} ${slotsInWords(cluster.slots)} with ${schedulers}, ${cluster.mode === 'live' ? 'run live' : 'simulated'}` +
    `${estimates === '' ? '' : ` with ${estimates}`}${seeds > 1 ? `; numbers are means over ${seeds} seeds` : ''}.`
  );
}

function slotsInWords(slots: number): string {
  return slots === 1 ? 'of one CPU' : `of ${slots} CPUs`;
}
