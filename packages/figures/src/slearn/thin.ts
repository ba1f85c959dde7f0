import { settingAxis } from '../axis.js';
import { claims } from '../claims.js';
import type { Figure } from '../figure.js';
import { barelyVaries } from '../judging/index.js';
import { lines } from '../panels.js';
import { stated } from '../series.js';
import { BASELINES, EXTRACT, GS_SETTINGS } from './gs.js';
import { SLEARN } from './paper.js';
import { averageSpeedup } from './series.js';

/** Table 9, of GTrace11. */
const TABLE: readonly (readonly [limit: number, average: number])[] = [
  [2, 1.54],
  [3, 1.56],
  [4, 1.55],
  [5, 1.54],
  [6, 1.53],
];
const OF = 'slearn';
const average = stated(averageSpeedup(OF, BASELINES.threeSigma.name), TABLE);

export const slearnThin: Figure = {
  id: 'slearn-thin',
  title: 'Which jobs are too thin to sample',
  paper: SLEARN,
  section: '§5.2.8, Table 9',
  about:
    'Average speed-up of SLearn over 3Sigma in gs, where jobs of fewer tasks than the limit are not sampled.',
  mode: 'simulated',
  workload: EXTRACT,
  settings: GS_SETTINGS,
  axis: settingAxis(
    'thin below so many tasks',
    'even',
    TABLE.map(([limit]) => limit),
    (thinLimit) => ({ thinLimit }),
  ),
  variants: [{ name: OF, settings: { estimator: 'pilot', pilotRatio: 'adaptive' } }, BASELINES.threeSigma],
  pairs: [{ of: OF, over: BASELINES.threeSigma.name }],
  panels: [lines('SLearn over 3Sigma', '3Sigma ÷ SLearn', [average])],
  claims: claims('§5.2.8', {
    'The average speed-up barely varies with the limit': barelyVaries([average], 0.05),
  }),
};
