import { inPercent, settingAxis } from '../axis.js';
import { claims } from '../claims.js';
import type { Figure, Series } from '../figure.js';
import { at, staysWithin } from '../judging/index.js';
import { lines, table } from '../panels.js';
import { stated } from '../series.js';
import { BASELINES, EXTRACT, GS_SETTINGS } from './gs.js';
import { SLEARN } from './paper.js';
import { averageSpeedup, errorP50, medianSpeedup, ratioChosen } from './series.js';

/** 0 stands for the adaptive ratio. Table 6, of GTrace11. */
const TABLE: readonly (readonly [percent: number, error: number, average: number])[] = [
  [1, 0.144, 1.52],
  [2, 0.14, 1.55],
  [3, 0.136, 1.54],
  [4, 0.131, 1.56],
  [5, 0.127, 1.58],
  [10, 0.0909, 1.51],
  [0, 0.137, 1.56],
];
const shareOf = (percent: number) => (percent === 0 ? 'adaptive' : inPercent(percent));
const OF = 'slearn';
const OVER = BASELINES.threeSigma.name;
const average = stated(
  averageSpeedup(OF, OVER),
  TABLE.map(([percent, , value]) => [percent, value]),
);

/** The adaptive ratio's speed-up over the best of the fixed ones. */
const againstBest: Series = {
  name: 'adaptive ÷ the best fixed ratio',
  unit: 'ratio',
  value: (point, all) => {
    const values = all.flatMap((each) => (each.tick.x === 0 ? [] : (average.value(each, all) ?? [])));
    const own = average.value(point, all);
    return own === undefined || values.length === 0 ? undefined : own / Math.max(...values);
  },
};

export const slearnAdaptive: Figure = {
  id: 'slearn-adaptive',
  title: 'How many of a job’s tasks should be pilots, and finding that out',
  paper: SLEARN,
  section: '§5.2.2, Table 6, Figure 5',
  about:
    'Speed-up of SLearn over 3Sigma in gs for fixed shares of pilots, and for the one that adapts; and which shares that ' +
    'chose. Of so few tasks a job most have one pilot at any of these shares.',
  mode: 'simulated',
  workload: EXTRACT,
  settings: GS_SETTINGS,
  axis: settingAxis(
    'share of pilots',
    'even',
    TABLE.map(([percent]) => percent),
    (percent) => ({ pilotRatio: shareOf(percent) }),
    shareOf,
  ),
  variants: [{ name: OF, settings: { estimator: 'pilot' } }, BASELINES.threeSigma],
  pairs: [{ of: OF, over: OVER }],
  panels: [
    lines('SLearn over 3Sigma', '3Sigma ÷ SLearn', [
      average,
      stated(
        medianSpeedup(OF, OVER),
        TABLE.map(([percent]) => [percent, 1]),
      ),
    ]),
    table('What the pilots told', [
      stated(
        errorP50(OF),
        TABLE.map(([percent, error]) => [percent, error]),
      ),
    ]),
    table(
      'What was chosen, share of the sampled jobs',
      [1, 2, 3, 4, 5].map((percent) => ratioChosen(OF, percent)),
    ),
    { kind: 'course', title: 'Ratios chosen, job after job (Figure 5)', at: 0, variants: [OF] },
  ],
  claims: claims('§5.2.2', {
    'The adaptive ratio is about 1% worse than the best fixed one': staysWithin(
      [againstBest],
      { least: 0.98, most: 1.1 },
      at(0),
    ),
  }),
};
