import { settingAxis } from '../axis.js';
import { claims } from '../claims.js';
import type { Figure } from '../figure.js';
import { barelyVaries, falls, isBetter } from '../judging/index.js';
import { lines } from '../panels.js';
import { percentileRatios } from '../series.js';
import { GOOGLE, GOOGLE_SETTINGS, GOOGLE_WORKERS, HAWK, POLICIES } from './paper.js';

const { short50, short90, long50, long90 } = percentileRatios('hawk', 'sparrow');
const short = [short50, short90];

/** An estimate is off by up to so much of the truth, either way: 0.9 is the paper's 0.1–1.9. */
const MAGNITUDES = [0, 0.1, 0.3, 0.5, 0.7, 0.9];
const range = (magnitude: number, dash: string) =>
  `${(1 - magnitude).toFixed(1)}${dash}${(1 + magnitude).toFixed(1)}`;

export const hawk14: Figure = {
  id: 'hawk-14',
  title: 'Hawk with wrong estimates',
  paper: HAWK,
  section: '§4.8, Figure 14',
  about:
    'Each estimate is the true mean task run time multiplied by a random number of the range, drawn once a job. Run times ' +
    'over those under Sparrow; jobs are short or long by their true means.',
  mode: 'simulated',
  workload: GOOGLE,
  settings: { ...GOOGLE_SETTINGS, workers: GOOGLE_WORKERS },
  axis: settingAxis(
    'range of estimates, of the truth',
    'even',
    MAGNITUDES,
    (magnitude) => ({ estimator: magnitude === 0 ? 'oracle' : `noisy:${range(magnitude, '-')}` }),
    (magnitude) => (magnitude === 0 ? 'exact' : range(magnitude, '–')),
  ),
  // Sparrow asks for no estimates.
  variants: [POLICIES.hawk, { ...POLICIES.sparrow, settings: { policy: 'sparrow', estimator: 'oracle' } }],
  panels: [
    lines('Long jobs', 'Hawk ÷ Sparrow', [long50, long90]),
    lines('Short jobs', 'Hawk ÷ Sparrow', short),
  ],
  claims: claims('§4.8', {
    'Hawk is robust to mis-estimations: the 50th percentile of long jobs stays better than Sparrow’s':
      isBetter([long50]),
    'It varies little with them': barelyVaries([long50], 0.1),
    'Long jobs perform better at the 90th percentile as the mis-estimation grows': falls([long90]),
    'Results for short jobs vary only minutely': barelyVaries(short, 0.05),
  }),
};
