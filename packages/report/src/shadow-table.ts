import { counted } from '@goshawk/core';
import type { EstimatorScore, GroupScore } from '@goshawk/predictor';
import type { Comparison, Run } from './comparison.js';
import { duration, ofHundred, threeDigits, whole } from './numbers.js';
import { textTable } from './terminal.js';

/**
 * Estimators in shadow as a person reads of them on a terminal, run by run; empty where none ran. Ends without a
 * newline.
 */
export function renderShadow({ runs }: Pick<Comparison, 'runs'>): string {
  return runs.flatMap((run) => (run.shadow === undefined ? [] : [shadowOf(run, run.shadow)])).join('\n\n');
}

function shadowOf({ policy, seed }: Run, scores: readonly EstimatorScore[]): string {
  return renderScores(`estimators in shadow of ${policy}, seed ${seed}`, scores);
}

/** How good estimators were over the same jobs. Ends without a newline. */
export function renderScores(title: string, scores: readonly EstimatorScore[]): string {
  const jobs = scores[0]?.jobs ?? 0;
  return [
    `${title}: ${counted(jobs, 'job')}`,
    textTable([
      ['estimator', ...SHADOW_COLUMNS.map(({ title }) => title)],
      ...scores.map((score) => [score.estimator, ...SHADOW_COLUMNS.map(({ cell }) => cell(score))]),
    ]),
    groups('error p50 / p90', scores, ({ bySize }) => bySize),
    groups('error p50 / p90', scores, ({ byRecurrence }) => byRecurrence),
  ].join('\n\n');
}

/** One column a group; a group that has jobs has them for every estimator. */
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

/** What is shown of each estimator, on a terminal and on a page. */
export const SHADOW_COLUMNS: readonly {
  readonly title: string;
  readonly cell: (score: EstimatorScore) => string;
}[] = [
  { title: 'error p50', cell: ({ errorPercent }) => ofHundred(errorPercent.p50) },
  { title: 'p90', cell: ({ errorPercent }) => ofHundred(errorPercent.p90) },
  { title: 'mean', cell: ({ errorPercent }) => ofHundred(errorPercent.mean) },
  { title: 'wrong class, jobs', cell: (score) => ofHundred(score.misclassifiedJobsPercent) },
  { title: 'task seconds', cell: (score) => ofHundred(score.misclassifiedTaskSecondsPercent) },
  { title: 'pilots a job', cell: ({ pilots, jobs }) => threeDigits(jobs === 0 ? null : pilots / jobs) },
  { title: 'delay, mean', cell: ({ delaySeconds }) => duration(delaySeconds?.mean ?? null) },
  { title: 'p90', cell: ({ delaySeconds }) => duration(delaySeconds?.p90 ?? null) },
];
