import { ONE_PLACE } from '../axis.js';
import { claims } from '../claims.js';
import type { Figure } from '../figure.js';
import { isBelow, reaches } from '../judging/index.js';
import { bars, table } from '../panels.js';
import { stated } from '../series.js';
import { GS_SETTINGS } from './gs.js';
import { SLEARN } from './paper.js';
import { averageSpeedup, errorP50, medianSpeedup } from './series.js';

const OF = 'slearn-dag';
/** §6, Figure 10. */
const AVERAGES = { '3sigma': 1.26, las: 2.15, 'point-est': 1.74 } as const;
const OTHERS = Object.keys(AVERAGES);
const ERRORS = { [OF]: 0.339, '3sigma': 0.4721 } as const;

const averages = Object.entries(AVERAGES).map(([name, paper]) =>
  stated(averageSpeedup(OF, name), [[0, paper]]),
);

export const slearnDag: Figure = {
  id: 'slearn-10',
  title: 'Jobs of stages: pilots of the first stage correct the history of the others',
  paper: SLEARN,
  section: '§6, Figure 10',
  about:
    'Jobs of two to five stages, one after another, each of which is a job of the Google trace of the same user and name; ' +
    'the trace does not say of how many tasks, which are drawn. Estimators learn from the first half of the jobs, and 900 of ' +
    'the other half are drawn for each seed. Speed-up: mean run time under the baseline over that under SLearn-DAG.',
  mode: 'simulated',
  workload: {
    generator: 'gtrace-dag',
    jobs: 900,
    isReplaceable: true,
    traceNeeded: { what: 'jobs of the Google trace that ran before', hint: '--trace google-history.csv.gz' },
    draw: { jobs: 900, tasksMax: 750 },
  },
  settings: GS_SETTINGS,
  axis: ONE_PLACE,
  variants: [OF, ...OTHERS].map((name) => ({ name, settings: { estimator: name } })),
  pairs: OTHERS.map((over) => ({ of: OF, over })),
  panels: [
    bars('Average speed-up', 'baseline ÷ SLearn-DAG', averages),
    bars(
      'P50 speed-up',
      'baseline ÷ SLearn-DAG',
      OTHERS.map((name) => medianSpeedup(OF, name)),
    ),
    table('Error of the prediction', [
      ...Object.entries(ERRORS).map(([name, p50]) => stated(errorP50(name), [[0, p50]])),
      errorP50('point-est'),
    ]),
  ],
  claims: [
    ...Object.entries(AVERAGES).map(([name, paper]) => ({
      section: '§6',
      text: `SLearn-DAG's average completion time is ${paper} times shorter than under ${name}`,
      judge: reaches(averageSpeedup(OF, name), paper),
    })),
    ...claims('§6', {
      'Its P50 prediction error is below that of 3Sigma-DAG: 33.90% against 47.21%': isBelow(
        errorP50(OF),
        errorP50('3sigma'),
      ),
    }),
  ],
};
