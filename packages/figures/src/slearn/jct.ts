import { ONE_PLACE } from '../axis.js';
import { claims } from '../claims.js';
import type { Figure, Variant } from '../figure.js';
import { reaches } from '../judging/index.js';
import { bars, table } from '../panels.js';
import { stated } from '../series.js';
import { BASELINES, EXTRACT, GS_SETTINGS, SLEARN_VARIANT } from './gs.js';
import { SLEARN } from './paper.js';
import { averageSpeedup, medianSpeedup, rightQueue } from './series.js';

const OTHERS = Object.values(BASELINES);
const OF = SLEARN_VARIANT.name;

/** §5.2.4, of GTrace11; of the others the text gives no number. */
const AVERAGES: Readonly<Record<string, number>> = {
  '3sigma': 1.56,
  '3sigma-tl': 1.55,
  'point-est': 2.17,
  las: 1.65,
};

/** Not in the paper: how wrong estimates may be before it costs anything. The truth times a number from 0 to so much. */
const WRONG: readonly Variant[] = [4, 20].map((most) => ({
  name: `0 to ${most} times the truth`,
  settings: { estimator: `noisy:0-${most}` },
}));

const averages = OTHERS.map(({ name }) => {
  const series = averageSpeedup(OF, name);
  const paper = AVERAGES[name];
  return paper === undefined ? series : stated(series, [[0, paper]]);
});
const median = stated(medianSpeedup(OF, '3sigma'), [[0, 1]]);

export const slearnJct: Figure = {
  id: 'slearn-jct',
  title: 'Completion times by pilots, against what history, service or nothing tells',
  paper: SLEARN,
  section: '§5.2.4, Figure 6b, Table 7',
  about:
    'Speed-up of SLearn over each baseline in the same scheduler, gs: run times under the baseline over run times under ' +
    'SLearn, above 1 where SLearn is faster. On average, of the mean run times; P50, of the jobs one by one. Each seed is ' +
    'another draw of jobs.',
  mode: 'simulated',
  workload: EXTRACT,
  settings: GS_SETTINGS,
  axis: ONE_PLACE,
  variants: [SLEARN_VARIANT, ...OTHERS, ...WRONG],
  pairs: [...OTHERS, ...WRONG].map(({ name }) => ({ of: OF, over: name })),
  panels: [
    bars('Average speed-up', 'baseline ÷ SLearn', averages),
    bars(
      'P50 speed-up',
      'baseline ÷ SLearn',
      OTHERS.map(({ name }) => (name === '3sigma' ? median : medianSpeedup(OF, name))),
    ),
    table(
      'What wrong estimates cost (not in the paper)',
      WRONG.map(({ name }) => averageSpeedup(OF, name)),
    ),
    table('Queues', [
      stated(rightQueue(OF), [[0, 0.8645]]),
      stated(rightQueue('3sigma'), [[0, 0.762]]),
      rightQueue('point-est'),
    ]),
  ],
  claims: [
    ...Object.entries(AVERAGES).map(([name, paper]) => ({
      section: '§5.2.4',
      text: `SLearn improves the average completion time by ${paper} times over ${name}`,
      judge: reaches(averageSpeedup(OF, name), paper),
    })),
    ...claims('§5.2.4, Table 7', {
      'It assigns more wide jobs to the right queue than 3Sigma: 86.45% against 76.20%': reaches(
        {
          name: 'right queue, slearn ÷ 3sigma',
          unit: 'ratio',
          value: ({ beliefs }) =>
            beliefs?.[OF] === undefined || beliefs['3sigma'] === undefined
              ? undefined
              : beliefs[OF].rightQueue / beliefs['3sigma'].rightQueue,
        },
        0.8645 / 0.762,
      ),
    }),
  ],
};
