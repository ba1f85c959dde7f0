import { ERROR_PERCENTILES, inPercent, SINGLE_POINT, settingAxis } from '../axis.js';
import { bars, claims, type Figure, lines, type Paper, type Series, table, type Variant } from '../figure.js';
import { WAIT_SEGMENTS, type WaitSegment, type WaitShare } from '../jobwise.js';
import {
  at,
  bestFactor,
  isBelow,
  isMuchBetter,
  isNearlyConstant,
  only,
  reaches,
  shareIsAbout,
  shareReaches,
  staysWithin,
} from '../judging/index.js';
import { pairName } from '../point.js';
import { error, over, seriesOf, stated } from '../series.js';
import type { RunSettings } from '../settings.js';

const PAPER: Paper = {
  name: 'SLearn',
  reference:
    'A. Jajoo, Y. C. Hu, X. Lin, N. Deng: A Case for Task Sampling based Learning for Cluster Job Scheduling, USENIX NSDI 2022',
};

const GS_SETTINGS = {
  policy: 'gs',
  workers: 150,
  load: 1.01,
  // One scheduler has one predictor, as in the paper. Several predictors would each learn from some jobs
  // only.
  schedulers: 1,
  // Each duration belongs to its task, because the result depends on which tasks are pilots.
  durations: 'task',
} as const satisfies RunSettings;

/**
 * Workload of the figures of §5.2: 1,250 jobs of at most 150 tasks, drawn for each seed, on 150 single-slot workers
 * at the load of GTrace11 (§4.3, Table 5).
 */
const IN_GS = {
  paper: PAPER,
  mode: 'simulated',
  workload: {
    generator: 'google-like',
    jobs: 20_000,
    isReplaceable: true,
    draw: { jobs: 1_250, tasksMax: 150 },
  },
  settings: GS_SETTINGS,
} as const satisfies Partial<Figure>;

const SLEARN = 'slearn';
const THREE_SIGMA = '3sigma';
/** SLearn in full: an adaptive ratio, and a decision after all pilots (§5.1.2). */
const FULL_SLEARN: Variant = { name: SLEARN, settings: { estimator: 'pilot', pilotRatio: 'adaptive' } };
/** Baselines (§5.1.3). */
const BASELINES = [THREE_SIGMA, '3sigma-tl', 'point-est', 'las', 'fifo', 'oracle'];
const AGAINST_3SIGMA = { of: SLEARN, over: THREE_SIGMA };

/** Variants for estimators, each with its name. */
function estimators(...names: readonly string[]): Variant[] {
  return names.map((name) => ({ name, settings: { estimator: name } }));
}

/** Mean run time under another variant over mean run time under this one. */
function averageSpeedup(of: string, to: string): Series {
  return seriesOf(`average, over ${to}`, 'ratio', 'speedups', pairName(of, to), ({ average }) => average);
}

/** Median over the jobs of their speed-ups. */
function medianSpeedup(of: string, to: string): Series {
  return seriesOf(`P50, over ${to}`, 'ratio', 'speedups', pairName(of, to), ({ p50 }) => p50);
}

/** Median error of the estimates of jobs with at least three tasks. */
function errorP50(of: string): Series {
  return seriesOf(`P50 prediction error, ${of}`, 'share', 'accuracy', of, (accuracy) => accuracy.errorP50);
}

/** The paper's averages as claims. @param text formats a number and a baseline */
function claimsOfAverages(
  section: string,
  of: string,
  averages: Readonly<Record<string, number>>,
  text: (paper: number, name: string) => string,
) {
  const judges = Object.entries(averages).map(([name, paper]) => [
    text(paper, name),
    reaches(averageSpeedup(of, name), paper),
  ]);
  return claims(section, Object.fromEntries(judges));
}

const PREDICTORS = ['pilot', THREE_SIGMA, 'history', 'hybrid'];
const pilot = error('pilot');
const threeSigma = error(THREE_SIGMA);
/** Errors that the paper states for the Google trace of 2011 (§4.3). */
const ERRORS = { pilot: { p50: 0.0915, p90: 0.4995 }, threeSigma: { p50: 0.2139, p90: 2.9452 } } as const;

export const slearnError: Figure = {
  id: 'slearn-error',
  title: 'Run-time prediction from pilots (space) and from history (time)',
  paper: PAPER,
  section: '§4.3, Figure 3b',
  about:
    'Error of the predicted mean task run time of a job. Predictions come from 3% of its tasks (pilot), from earlier jobs ' +
    '(3sigma, which weights run times by their inverse squares, and history, the estimate of the best expert), or from both ' +
    '(hybrid). Each seed draws 1,250 jobs of at most 150 tasks; jobs of 3 or more tasks are predicted, in order of submission.',
  mode: 'predicted',
  workload: { generator: 'google-like', jobs: 20_000, isReplaceable: true },
  settings: {},
  axis: ERROR_PERCENTILES,
  variants: estimators(...PREDICTORS),
  panels: [
    {
      kind: 'distribution',
      title: 'Jobs by the error of their prediction',
      of: 'errors',
      variants: PREDICTORS,
    },
    table('Error of the prediction', [
      stated(pilot, [
        [50, ERRORS.pilot.p50],
        [90, ERRORS.pilot.p90],
      ]),
      stated(threeSigma, [
        [50, ERRORS.threeSigma.p50],
        [90, ERRORS.threeSigma.p90],
      ]),
      error('history'),
      error('hybrid'),
    ]),
  ],
  claims: claims('§4.3', {
    'The P50 prediction error of sampling is 9.15%': only(at(50), shareIsAbout(pilot, ERRORS.pilot.p50)),
    'The P90 prediction error of sampling is 49.95%': only(at(90), shareIsAbout(pilot, ERRORS.pilot.p90)),
    'Sampling has much better prediction accuracy than history: the P50 error is less than half (9.15% and 21.39%)':
      only(at(50), isMuchBetter([over(pilot, threeSigma)], 0.5)),
    'The P90 error of sampling is 5.9 times smaller than that of history (49.95% and 294.52%; accepted: 4.9 to 7.1 times)':
      only(at(90), bestFactor(over(pilot, threeSigma), 5.9)),
  }),
};

/** Average speed-ups that the paper states for GTrace11 (§5.2.4). It states none for the other baselines. */
const AVERAGES: Readonly<Record<string, number>> = {
  [THREE_SIGMA]: 1.56,
  '3sigma-tl': 1.55,
  'point-est': 2.17,
  las: 1.65,
};

/**
 * Estimates of 0 to 4 and 0 to 20 times the truth, to find which errors increase run times. Not in the paper.
 */
const WRONG: readonly Variant[] = [4, 20].map((most) => ({
  name: `0 to ${most} times the truth`,
  settings: { estimator: `noisy:0-${most}` },
}));

/** Share of jobs with at least three tasks whose estimate selects the right queue. */
function rightQueueSeries(of: string): Series {
  const name = `wide jobs in the right queue, ${of}`;
  return seriesOf(name, 'share', 'accuracy', of, (accuracy) => accuracy.rightQueueShare);
}

const slearnJct: Figure = {
  ...IN_GS,
  id: 'slearn-jct',
  title: 'Completion times with pilots, compared with history, attained service and no estimates',
  section: '§5.2.4, Figure 6b, Table 7',
  about:
    'Speed-up of SLearn over each baseline in the same scheduler, gs: run times under the baseline divided by run times ' +
    'under SLearn; above 1, SLearn is faster. The average compares mean run times, P50 compares the runs of each job. Each ' +
    'seed draws other jobs.',
  axis: SINGLE_POINT,
  variants: [FULL_SLEARN, ...estimators(...BASELINES), ...WRONG],
  pairs: [...BASELINES, ...WRONG.map(({ name }) => name)].map((name) => ({ of: SLEARN, over: name })),
  panels: [
    bars(
      'Average speed-up',
      'baseline ÷ SLearn',
      BASELINES.map((name) => {
        const paper = AVERAGES[name];
        const series = averageSpeedup(SLEARN, name);
        return paper === undefined ? series : stated(series, [[0, paper]]);
      }),
    ),
    bars(
      'P50 speed-up',
      'baseline ÷ SLearn',
      BASELINES.map((name) => {
        const series = medianSpeedup(SLEARN, name);
        return name === THREE_SIGMA ? stated(series, [[0, 1]]) : series;
      }),
    ),
    table(
      'Cost of wrong estimates (not in the paper)',
      WRONG.map(({ name }) => averageSpeedup(SLEARN, name)),
    ),
    table('Queues', [
      stated(rightQueueSeries(SLEARN), [[0, 0.8645]]),
      stated(rightQueueSeries(THREE_SIGMA), [[0, 0.762]]),
      rightQueueSeries('point-est'),
    ]),
  ],
  claims: [
    ...claimsOfAverages(
      '§5.2.4',
      SLEARN,
      AVERAGES,
      (paper, name) => `SLearn improves the average completion time by ${paper} times over ${name}`,
    ),
    ...claims('§5.2.4, Table 7', {
      'SLearn assigns more wide jobs to the right queue than 3Sigma: 86.45% against 76.20%': reaches(
        over(rightQueueSeries(SLEARN), rightQueueSeries(THREE_SIGMA)),
        0.8645 / 0.762,
      ),
    }),
  ],
};

/** Results of the paper for GTrace11 (Table 6), by sampling ratio; 0 means the adaptive ratio. */
const RATIOS: readonly (readonly [percent: number, error: number, average: number])[] = [
  [1, 0.144, 1.52],
  [2, 0.14, 1.55],
  [3, 0.136, 1.54],
  [4, 0.131, 1.56],
  [5, 0.127, 1.58],
  [10, 0.0909, 1.51],
  [0, 0.137, 1.56],
];
const shareOf = (percent: number) => (percent === 0 ? 'adaptive' : inPercent(percent));
const averageByRatio = stated(
  averageSpeedup(SLEARN, THREE_SIGMA),
  RATIOS.map(([percent, , average]) => [percent, average]),
);

/** Speed-up with the adaptive ratio over that with the best fixed ratio. */
const againstBest: Series = {
  name: 'adaptive ÷ the best fixed ratio',
  unit: 'ratio',
  value: (point, all) => {
    const values = all.flatMap((each) => (each.tick.x === 0 ? [] : (averageByRatio.value(each, all) ?? [])));
    const own = averageByRatio.value(point, all);
    return own === undefined || values.length === 0 ? undefined : own / Math.max(...values);
  },
};

const slearnAdaptive: Figure = {
  ...IN_GS,
  id: 'slearn-adaptive',
  title: 'Completion times by the fraction of pilots, fixed or adaptive',
  section: '§5.2.2, Table 6, Figure 5',
  about:
    'Speed-up of SLearn over 3Sigma in gs with fixed sampling ratios and with the adaptive ratio, and the ratios that the ' +
    'latter chose. Most jobs have so few tasks that they have one pilot at any of these ratios.',
  axis: settingAxis(
    'share of pilots',
    'even',
    RATIOS.map(([percent]) => percent),
    (percent) => ({ pilotRatio: shareOf(percent) }),
    shareOf,
  ),
  variants: [{ name: SLEARN, settings: { estimator: 'pilot' } }, ...estimators(THREE_SIGMA)],
  pairs: [AGAINST_3SIGMA],
  panels: [
    lines('SLearn over 3Sigma', '3Sigma ÷ SLearn', [
      averageByRatio,
      stated(
        medianSpeedup(SLEARN, THREE_SIGMA),
        RATIOS.map(([percent]) => [percent, 1]),
      ),
    ]),
    table('Results of the pilots', [
      stated(
        errorP50(SLEARN),
        RATIOS.map(([percent, p50]) => [percent, p50]),
      ),
    ]),
    table(
      'Chosen ratios, by share of the sampled jobs',
      [1, 2, 3, 4, 5].map((percent) =>
        seriesOf(`sampled at ${percent}%`, 'share', 'ratios', SLEARN, (ratios) => ratios.get(percent) ?? 0),
      ),
    ),
    { kind: 'course', title: 'Ratios chosen, job after job (Figure 5)', at: 0, variants: [SLEARN] },
  ],
  claims: claims('§5.2.2', {
    'The adaptive ratio is about 1% worse than the best fixed one': only(
      at(0),
      staysWithin([againstBest], { least: 0.98, most: 1.1 }),
    ),
  }),
};

/** Results of the paper for GTrace11 (Table 9). */
const THIN_JOB_RESULTS: readonly (readonly [limit: number, average: number])[] = [
  [2, 1.54],
  [3, 1.56],
  [4, 1.55],
  [5, 1.54],
  [6, 1.53],
];
const averageByLimit = stated(averageSpeedup(SLEARN, THREE_SIGMA), THIN_JOB_RESULTS);

const slearnThin: Figure = {
  ...IN_GS,
  id: 'slearn-thin',
  title: 'Which jobs are too small to sample',
  section: '§5.2.8, Table 9',
  about:
    'Average speed-up of SLearn over 3Sigma in gs if jobs with fewer tasks than the limit are not sampled.',
  axis: settingAxis(
    'task limit for sampling',
    'even',
    THIN_JOB_RESULTS.map(([limit]) => limit),
    (thinLimit) => ({ thinLimit }),
  ),
  variants: [FULL_SLEARN, ...estimators(THREE_SIGMA)],
  pairs: [AGAINST_3SIGMA],
  panels: [lines('SLearn over 3Sigma', '3Sigma ÷ SLearn', [averageByLimit])],
  claims: claims('§5.2.8', {
    'The average speed-up barely varies with the limit': isNearlyConstant([averageByLimit], 0.05),
  }),
};

/**
 * Values of §5.2.5: shares of jobs whose normalized wait lies in a segment, under SLearn and under both
 * policies, and of those that wait less under SLearn.
 */
const WAITS: Readonly<Record<WaitSegment, { bounds: string; own: number; common: number; lower?: number }>> =
  {
    none: { bounds: 'below 0.04', own: 0.3658, common: 0.3557 },
    moderate: { bounds: '0.04 to 1.90', own: 0.3051, common: 0.2038, lower: 0.2981 },
    long: { bounds: 'above 1.90', own: 0.3291, common: 0.2468, lower: 0.8308 },
  };

/** Share of the jobs with at least three tasks whose wait lies in a segment, with the paper's. */
function waits(segment: WaitSegment, how: keyof WaitShare, name: string): Series {
  const pair = pairName(SLEARN, THREE_SIGMA);
  const { bounds, [how]: paper } = WAITS[segment];
  const series = seriesOf(`${name}${bounds}`, 'share', 'waits', pair, (shares) => shares[segment][how]);
  return paper === undefined ? series : stated(series, [[0, paper]]);
}
const own = (segment: WaitSegment) => waits(segment, 'own', 'jobs ');
const common = (segment: WaitSegment) => waits(segment, 'common', 'the same under 3Sigma, ');
const lower = (segment: WaitSegment) => waits(segment, 'lower', 'of these, less under SLearn, ');

const slearnWait: Figure = {
  ...IN_GS,
  id: 'slearn-wait',
  title: 'Jobs that wait longer because pilots run first',
  section: '§5.2.5, Figure 7',
  about:
    'Normalized wait of jobs of three or more tasks: the mean wait of a job’s tasks divided by their mean run time, under ' +
    'SLearn and under 3Sigma, in gs. The paper draws the distribution; its text has the shares of these segments.',
  axis: SINGLE_POINT,
  variants: [FULL_SLEARN, ...estimators(THREE_SIGMA)],
  pairs: [AGAINST_3SIGMA],
  panels: [
    bars('Jobs by their normalized wait under SLearn', 'share of the jobs', WAIT_SEGMENTS.map(own)),
    table(
      'Against 3Sigma',
      WAIT_SEGMENTS.flatMap((segment) => [common(segment), lower(segment)]),
    ),
    table('Load per window of 1,000 s (Table 5)', [
      stated(
        seriesOf('P50', 'ratio', 'loads', SLEARN, ({ p50 }) => p50),
        [[0, 0.29]],
      ),
      stated(
        seriesOf('P90', 'ratio', 'loads', SLEARN, ({ p90 }) => p90),
        [[0, 1.49]],
      ),
      seriesOf('largest job, of all work', 'share', 'loads', SLEARN, ({ largestShare }) => largestShare),
    ]),
  ],
  claims: claims('§5.2.5', {
    '35.57% of the jobs hardly wait under either policy, because the load is low and both are work-conserving':
      shareReaches(common('none'), WAITS.none.common),
    'With moderate waits, 29.81% wait less under SLearn; the others pay for sampling': shareIsAbout(
      lower('moderate'),
      0.2981,
    ),
    'With long waits, 83.08% wait less under SLearn, because better estimates matter more': shareReaches(
      lower('long'),
      0.8308,
    ),
  }),
};

const SLEARN_DAG = 'slearn-dag';
/** Average speed-ups of the paper for jobs with stages (§6, Figure 10). */
const DAG_AVERAGES = { [THREE_SIGMA]: 1.26, las: 2.15, 'point-est': 1.74 } as const;
const DAG_BASELINES = Object.keys(DAG_AVERAGES);
const DAG_ERRORS = { [SLEARN_DAG]: 0.339, [THREE_SIGMA]: 0.4721 } as const;

const slearnDag: Figure = {
  id: 'slearn-10',
  title: 'Multi-stage jobs: pilots of the first stage correct the estimates of later stages',
  paper: PAPER,
  section: '§6, Figure 10',
  about:
    'Jobs of two to five consecutive stages. Each stage is a job of the Google trace with the same user and name; numbers ' +
    'of tasks, which the trace lacks, are drawn. Estimators learn from the first half of the jobs, and each seed draws 900 of ' +
    'the other half. Speed-up: mean run time under the baseline divided by that under SLearn-DAG.',
  mode: 'simulated',
  workload: {
    generator: 'gtrace-dag',
    jobs: 900,
    isReplaceable: true,
    traceNeeded: { what: 'jobs of the Google trace that ran before', hint: '--trace google-history.csv.gz' },
    draw: { jobs: 900, tasksMax: 750 },
  },
  settings: GS_SETTINGS,
  axis: SINGLE_POINT,
  variants: estimators(SLEARN_DAG, ...DAG_BASELINES),
  pairs: DAG_BASELINES.map((name) => ({ of: SLEARN_DAG, over: name })),
  panels: [
    bars(
      'Average speed-up',
      'baseline ÷ SLearn-DAG',
      Object.entries(DAG_AVERAGES).map(([name, paper]) =>
        stated(averageSpeedup(SLEARN_DAG, name), [[0, paper]]),
      ),
    ),
    bars(
      'P50 speed-up',
      'baseline ÷ SLearn-DAG',
      DAG_BASELINES.map((name) => medianSpeedup(SLEARN_DAG, name)),
    ),
    table('Error of the prediction', [
      ...Object.entries(DAG_ERRORS).map(([name, p50]) => stated(errorP50(name), [[0, p50]])),
      errorP50('point-est'),
    ]),
  ],
  claims: [
    ...claimsOfAverages(
      '§6',
      SLEARN_DAG,
      DAG_AVERAGES,
      (paper, name) => `SLearn-DAG's average completion time is ${paper} times shorter than under ${name}`,
    ),
    ...claims('§6', {
      'The P50 prediction error of SLearn-DAG is below that of 3Sigma-DAG: 33.90% against 47.21%': isBelow(
        errorP50(SLEARN_DAG),
        errorP50(THREE_SIGMA),
      ),
    }),
  ],
};

export const SLEARN_FIGURES: readonly Figure[] = [
  slearnError,
  slearnJct,
  slearnAdaptive,
  slearnThin,
  slearnWait,
  slearnDag,
];
