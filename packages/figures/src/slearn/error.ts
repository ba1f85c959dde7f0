import { ERROR_PERCENTILES } from '../axis.js';
import { claims } from '../claims.js';
import type { Figure } from '../figure.js';
import { at, isAtMost, isMuchBetter } from '../judging/index.js';
import { table } from '../panels.js';
import { error, over, stated } from '../series.js';
import { SLEARN } from './paper.js';

const pilot = error('pilot');
const threeSigma = error('3sigma');
/** §4.3, of the Google trace of 2011. */
const PAPER = { pilot: { p50: 0.0915, p90: 0.4995 }, threeSigma: { p50: 0.2139, p90: 2.9452 } } as const;

export const slearnError: Figure = {
  id: 'slearn-error',
  title: 'Run times learnt in space, and in time',
  paper: SLEARN,
  section: '§4.3, Figure 3b',
  about:
    'How far the predicted mean task run time of a job is from the true one: by a few of its own tasks (pilot, 3% of them), ' +
    'by the jobs before it (3sigma, which weighs run times by the inverse of their squares, and history, the estimate of ' +
    'the best expert), and by both (hybrid). Of jobs of at most 150 tasks, 1,250 are drawn for each seed; those of 3 tasks ' +
    'and more are predicted, in order of submission.',
  mode: 'predicted',
  workload: { generator: 'google-like', jobs: 20_000, isReplaceable: true },
  settings: {},
  axis: ERROR_PERCENTILES,
  variants: [
    { name: 'pilot', settings: { estimator: 'pilot' } },
    { name: '3sigma', settings: { estimator: '3sigma' } },
    { name: 'history', settings: { estimator: 'history' } },
    { name: 'hybrid', settings: { estimator: 'hybrid' } },
  ],
  panels: [
    {
      kind: 'distribution',
      title: 'Jobs by the error of their prediction',
      of: 'errors',
      variants: ['pilot', '3sigma', 'history', 'hybrid'],
    },
    table('Error of the prediction', [
      stated(pilot, [
        [50, PAPER.pilot.p50],
        [90, PAPER.pilot.p90],
      ]),
      stated(threeSigma, [
        [50, PAPER.threeSigma.p50],
        [90, PAPER.threeSigma.p90],
      ]),
      error('history'),
      error('hybrid'),
    ]),
  ],
  claims: claims('§4.3', {
    'The P50 prediction error of sampling is 9.15%': isAtMost(pilot, PAPER.pilot.p50, at(50)),
    'Its P90 prediction error is 49.95%': isAtMost(pilot, PAPER.pilot.p90, at(90)),
    'Sampling has much better prediction accuracy than history: the P50 error is less than half (9.15% and 21.39%)':
      isMuchBetter([over(pilot, threeSigma)], 0.5, at(50)),
    'At the 90th percentile it is 5.9 times less (49.95% and 294.52%)': isMuchBetter(
      [over(pilot, threeSigma)],
      0.5,
      at(90),
    ),
  }),
};
