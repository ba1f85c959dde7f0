import { ONE_PLACE } from '../axis.js';
import { claims } from '../claims.js';
import type { Figure } from '../figure.js';
import { WAIT_SEGMENTS, type WaitSegment } from '../jobwise.js';
import { shareIsAbout, shareIsAtLeast } from '../judging/index.js';
import { bars, table } from '../panels.js';
import { stated } from '../series.js';
import { BASELINES, EXTRACT, GS_SETTINGS, SLEARN_VARIANT } from './gs.js';
import { SLEARN } from './paper.js';
import { waits } from './series.js';

const OF = SLEARN_VARIANT.name;
const OVER = BASELINES.threeSigma.name;

/** §5.2.5: of the jobs, those in each segment, those that are in it under both, and of these those that wait less. */
const PAPER: Readonly<Record<WaitSegment, { own: number; common: number; lower?: number }>> = {
  none: { own: 0.3658, common: 0.3557 },
  moderate: { own: 0.3051, common: 0.2038, lower: 0.2981 },
  long: { own: 0.3291, common: 0.2468, lower: 0.8308 },
};
const BOUNDS: Readonly<Record<WaitSegment, string>> = {
  none: 'below 0.04',
  moderate: '0.04 to 1.90',
  long: 'above 1.90',
};

const own = (segment: WaitSegment) =>
  stated(waits(OF, OVER, segment, 'own', `jobs ${BOUNDS[segment]}`), [[0, PAPER[segment].own]]);
const common = (segment: WaitSegment) =>
  stated(waits(OF, OVER, segment, 'common', `the same under 3Sigma, ${BOUNDS[segment]}`), [
    [0, PAPER[segment].common],
  ]);
const lower = (segment: WaitSegment) => {
  const series = waits(OF, OVER, segment, 'lower', `of these, less under SLearn, ${BOUNDS[segment]}`);
  const { lower: paper } = PAPER[segment];
  return paper === undefined ? series : stated(series, [[0, paper]]);
};

export const slearnWait: Figure = {
  id: 'slearn-wait',
  title: 'Who waits longer when pilots run first',
  paper: SLEARN,
  section: '§5.2.5, Figure 7',
  about:
    'Normalised wait of jobs of three tasks and more: the mean wait of a job’s tasks over their mean run time, under ' +
    'SLearn and under 3Sigma, in gs.',
  mode: 'simulated',
  workload: EXTRACT,
  settings: GS_SETTINGS,
  axis: ONE_PLACE,
  variants: [SLEARN_VARIANT, BASELINES.threeSigma],
  pairs: [{ of: OF, over: OVER }],
  panels: [
    bars('Jobs by their normalised wait under SLearn', 'share of the jobs', WAIT_SEGMENTS.map(own)),
    table(
      'Against 3Sigma',
      WAIT_SEGMENTS.flatMap((segment) => [common(segment), lower(segment)]),
    ),
  ],
  claims: claims('§5.2.5', {
    '36.58% of the jobs wait next to nothing under both: where load is low, work is conserved':
      shareIsAtLeast(common('none'), PAPER.none.common),
    'Where waits are moderate, 29.81% wait less under SLearn: the others pay for sampling': shareIsAbout(
      lower('moderate'),
      0.2981,
    ),
    'Where waits are long, 83.08% wait less under SLearn: knowing more is worth more': shareIsAtLeast(
      lower('long'),
      0.8308,
    ),
  }),
};
