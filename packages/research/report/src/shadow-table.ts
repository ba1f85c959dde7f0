import { counted } from '@goshawk/core';
import type { EstimatorScore, GroupScore } from '@goshawk/predictor';
import { type Columns, columnTable } from './columns.js';
import type { Comparison, Run } from './comparison.js';
import { duration, ofHundred, threeDigits, whole } from './numbers.js';
import { textTable } from './terminal.js';

/**
 * Renders the scores of shadow estimators for a terminal, without a final newline; empty if there are none.
 */
export function renderShadow({ runs }: Pick<Comparison, 'runs'>): string {
  return runs.flatMap((run) => (run.shadow === undefined ? [] : [shadowOf(run, run.shadow)])).join('\n\n');
}

function shadowOf({ policy, seed }: Run, scores: readonly EstimatorScore[]): string {
  return renderScores(`estimators in shadow of ${policy}, seed ${seed}`, scores);
}

/** Renders the accuracy of estimators over the same jobs, without a final newline. */
export function renderScores(title: string, scores: readonly EstimatorScore[]): string {
  const jobs = scores[0]?.jobs ?? 0;
  return [
    `${title}: ${counted(jobs, 'job')}`,
    columnTable([['estimator', ({ estimator }) => estimator], ...SHADOW_COLUMNS], scores),
    groups('error p50 / p90', scores, ({ bySize }) => bySize),
    groups('error p50 / p90', scores, ({ byRecurrence }) => byRecurrence),
  ].join('\n\n');
}

/** Renders one column per group; a group that has jobs has them for every estimator. */
function groups(
  title: string,
  scores: readonly EstimatorScore[],
  of: (score: EstimatorScore) => readonly GroupScore[],
): string {
  const [first] = scores;
  if (first === undefined) return '';
  return textTable([
    [title, ...of(first).map(({ group }) => group)],
    ['jobs', ...of(first).map(({ jobs }) => whole(jobs))],
    ...scores.map((score) => [score.estimator, ...of(score).map(errorsOf)]),
  ]);
}

export function errorsOf({ errorPercent: { p50, p90 } }: GroupScore): string {
  return `${ofHundred(p50)} / ${ofHundred(p90)}`;
}

/** Columns for each estimator, on a terminal and on a page. */
export const SHADOW_COLUMNS: Columns<EstimatorScore> = [
  ['error p50', ({ errorPercent }) => ofHundred(errorPercent.p50)],
  ['p90', ({ errorPercent }) => ofHundred(errorPercent.p90)],
  ['mean', ({ errorPercent }) => ofHundred(errorPercent.mean)],
  ['misclassified jobs', (score) => ofHundred(score.misclassifiedJobsPercent)],
  ['task seconds', (score) => ofHundred(score.misclassifiedTaskSecondsPercent)],
  ['pilots per job', ({ pilots, jobs }) => threeDigits(jobs === 0 ? null : pilots / jobs)],
  ['delay, mean', ({ delaySeconds }) => duration(delaySeconds?.mean ?? null)],
  ['p90', ({ delaySeconds }) => duration(delaySeconds?.p90 ?? null)],
];
