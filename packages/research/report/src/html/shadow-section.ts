import type { EstimatorScore, GroupScore } from '@goshawk/predictor';
import type { Comparison } from '../comparison.js';
import { html, type Markup } from '../markup.js';
import { whole } from '../numbers.js';
import { errorsOf, SHADOW_COLUMNS } from '../shadow-table.js';
import { columnTable, section, table } from './elements.js';

/** Renders the scores of shadow estimators, which do not affect the runs; null if there are none. */
export function shadowSection({ runs }: Comparison): Markup | null {
  const shown = runs.flatMap(({ policy, seed, shadow }) =>
    shadow === undefined ? [] : [{ name: `${policy}, seed ${seed}`, shadow }],
  );
  if (shown.length === 0) return null;
  return section(
    'Estimators in shadow',
    html`<p>Each estimator predicted every job, but its predictions were not used. The delay is what its pilots would have
taken, had they started at once.</p>
${shown.map(({ name, shadow }) => tablesOf(name, shadow))}`,
  );
}

function tablesOf(name: string, shadow: readonly EstimatorScore[]): Markup {
  const [first] = shadow;
  const grouped = (of: (score: EstimatorScore) => readonly GroupScore[]) =>
    table(
      'error p50 / p90',
      of(first!).map(({ group, jobs }) => ({ title: `${group} (${whole(jobs)})` })),
      shadow.map((score) => ({ head: score.estimator, cells: of(score).map(errorsOf) })),
    );
  return html`${columnTable(name, SHADOW_COLUMNS, shadow, ({ estimator }) => estimator)}
${first === undefined ? null : [grouped(({ bySize }) => bySize), grouped(({ byRecurrence }) => byRecurrence)]}`;
}
