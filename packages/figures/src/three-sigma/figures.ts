import { inPercent, labelledAxis, ONE_PLACE, settingAxis, withThousands } from '../axis.js';
import { claims } from '../claims.js';
import type { Figure } from '../figure.js';
import { at, falls, isBelow, isMuchBetter, rises } from '../judging/index.js';
import { lines } from '../panels.js';
import { over } from '../series.js';
import { policies } from '../variants.js';
import {
  bestEffortGoodput,
  comparedByMisses,
  cycles,
  FIELD,
  FIVE_HOURS,
  GANGS,
  goodput,
  isAtMost,
  isCloseToPerfect,
  isNear,
  isTimes,
  misses,
  missesFewer,
  panels,
  predictions,
  SIGMA,
  TWO_HOURS,
} from './common.js';
import { table2 } from './table.js';
import { weights } from './weights.js';

const PARTS = [SIGMA, '3sigma-nodist', '3sigma-nooe', '3sigma-noadapt', 'point-perf', 'point-real'] as const;

const overall: Figure = {
  ...TWO_HOURS,
  id: '3sigma-6',
  title: 'Deadlines, by distributions of run times and by points',
  section: '§6.1, Figure 6',
  about: `Two hours of jobs at a load of 1.4, half of them with a deadline. ${GANGS}`,
  axis: ONE_PLACE,
  variants: policies(...FIELD),
  panels: panels(FIELD, ''),
  claims: claims('§6.1', {
    'PointRealEst misses 4.0 times as many deadlines as 3Sigma (accepted: 3 times)': isTimes(
      misses('point-real'),
      misses(SIGMA),
      3,
    ),
    'Prio misses 2.3 times as many (accepted: twice)': isTimes(misses('prio'), misses(SIGMA), 2),
    '3Sigma misses hardly more than PointPerfEst (accepted: 5% of the jobs)': isNear(
      misses(SIGMA),
      misses('point-perf'),
      0.05,
    ),
    "PointRealEst's goodput is 5.4% below 3Sigma's (accepted: 3%)": isMuchBetter(
      [over(goodput('point-real'), goodput(SIGMA))],
      0.03,
    ),
    "Prio's goodput of best-effort jobs is much less than PointRealEst's": isMuchBetter(
      [over(bestEffortGoodput('prio'), bestEffortGoodput('point-real'))],
      0.1,
    ),
  }),
};

const first: Figure = {
  ...overall,
  id: '3sigma-1',
  title: 'Deadlines that are missed',
  section: '§1, Figure 1',
  panels: overall.panels.slice(0, 1),
  claims: overall.claims.slice(0, 3),
};

const workloads: Figure = {
  ...FIVE_HOURS,
  id: '3sigma-7',
  title: 'Deadlines under three workloads',
  section: '§6.1, Figure 7',
  about: `The traces of HedgeFund and Mustang are not public: these are made up from what the paper says of how predictable they are. ${GANGS}`,
  axis: labelledAxis('workload', {
    e2e: { generator: 'e2e' },
    'hedgefund-like': { generator: 'hedgefund-like' },
    'mustang-like': { generator: 'mustang-like' },
  }),
  variants: policies(...FIELD),
  panels: panels(FIELD, 'workload'),
  claims: claims('§6.1', {
    ...comparedByMisses('under each'),
    'Under HedgeFund and Mustang 3Sigma misses slightly fewer than PointPerfEst': isBelow(
      misses(SIGMA),
      misses('point-perf'),
      at(1, 2),
    ),
  }),
};

const slack: Figure = {
  ...FIVE_HOURS,
  id: '3sigma-8',
  title: 'What each part of 3Sigma gives, by deadline slack',
  section: '§6.2, Figure 8',
  about: `The same with one deadline slack for all jobs, in per cent of the run time. ${GANGS}`,
  axis: settingAxis('deadline slack', 'linear', [20, 60, 100, 140, 180], (slack) => ({ slack }), inPercent),
  variants: policies(...PARTS),
  panels: panels(PARTS, 'deadline slack'),
  claims: claims('§6.2', {
    'Without distributions more deadlines are missed than with them': isBelow(
      misses(SIGMA),
      misses('3sigma-nodist'),
    ),
    'Without distributions fewer are missed than by PointRealEst': isBelow(
      misses('3sigma-nodist'),
      misses('point-real'),
    ),
    'At the least slack, to allow for over-estimates always is better than never': isBelow(
      misses('3sigma-noadapt'),
      misses('3sigma-nooe'),
      at(20),
    ),
    'To allow for them always costs best-effort jobs more than to do so where it is needed': isBelow(
      bestEffortGoodput('3sigma-noadapt'),
      bestEffortGoodput(SIGMA),
    ),
    'More slack means fewer misses': falls(PARTS.map(misses)),
  }),
};

const load: Figure = {
  ...FIVE_HOURS,
  id: '3sigma-10',
  title: 'Deadlines by load',
  section: '§6.4, Figure 10',
  about: `The same at other loads. ${GANGS}`,
  axis: settingAxis('load', 'linear', [1, 1.2, 1.4, 1.6], (load) => ({ load })),
  variants: policies(...FIELD),
  panels: panels(FIELD, 'load'),
  claims: claims('§6.4', {
    'Misses rise with load under all': rises(FIELD.map(misses)),
    ...comparedByMisses('at every load'),
  }),
};

const samples: Figure = {
  ...FIVE_HOURS,
  id: '3sigma-11',
  title: 'Deadlines by what has been seen of each program',
  section: '§6.4, Figure 11',
  about: `The same where so many runs of each program are known, and nothing is learnt on the way. ${GANGS}`,
  axis: settingAxis('samples', 'even', [5, 10, 25, 50, 100], (samples) => ({ samples })),
  variants: policies(...FIELD),
  panels: panels(FIELD, 'samples'),
  claims: claims('§6.4', {
    ...missesFewer('PointRealEst', 'point-real', 'at every number of samples'),
    ...isCloseToPerfect('from 25 samples on', at(25, 50, 100)),
    'More samples mean fewer misses under 3Sigma': falls([misses(SIGMA)]),
  }),
};

const SPREADS = [10, 20, 50];
const POINT = 'point';
const spreadName = (percent: number) => `CoV ${percent}%`;
const [NARROW, MIDDLE, WIDE] = SPREADS.map(spreadName) as [string, string, string];

const shifts: Figure = {
  ...TWO_HOURS,
  id: '3sigma-9',
  title: 'Deadlines by how wrong and how wide distributions are',
  section: '§6.3, Figure 9',
  about:
    'What is believed of a run time is a normal distribution around the true one, moved by a share of it; or its mean alone.',
  axis: settingAxis(
    'shift',
    'linear',
    [-50, -20, 0, 20, 50, 100],
    (percent) => ({ shift: percent / 100 }),
    inPercent,
  ),
  variants: [
    { name: POINT, settings: { policy: SIGMA, spread: 0 } },
    ...SPREADS.map((percent) => ({
      name: spreadName(percent),
      settings: { policy: SIGMA, spread: percent / 100 },
    })),
  ],
  panels: panels([POINT, NARROW, MIDDLE, WIDE], 'shift'),
  claims: claims('§6.3', {
    ...Object.fromEntries(
      [NARROW, MIDDLE, WIDE].map((of) => [
        `A distribution (${of}) is better than a point, however far it is moved`,
        isBelow(misses(of), misses(POINT)),
      ]),
    ),
    'Where it is right on the mean, a point misses twice as many (accepted: 1.5 times)': isTimes(
      misses(POINT),
      misses(MIDDLE),
      1.5,
      at(0),
    ),
    'Within 20% narrow distributions are better than wide ones': isBelow(
      misses(NARROW),
      misses(WIDE),
      at(-20, 0, 20),
    ),
    'Further off wide ones are better': isBelow(misses(WIDE), misses(NARROW), at(-50, 50, 100)),
  }),
};

const POINTS = '3sigma-nodist';

const scale: Figure = {
  ...TWO_HOURS,
  id: '3sigma-12',
  title: 'Planning for 12,583 nodes',
  section: '§6.5, Figure 12',
  about:
    "Google's cluster at a load of 0.95, run times stretched for fewer jobs an hour. Times are wall time, the longest of the seeds: they depend on the machine and on what else it does.",
  workload: { generator: 'e2e', jobs: 4_000, paperJobs: 20_000, isReplaceable: false },
  settings: { workers: 12_583, load: 0.95 },
  axis: settingAxis('jobs an hour', 'linear', [2_000, 3_000, 4_000], (rate) => ({ rate }), withThousands),
  variants: policies(SIGMA, POINTS),
  panels: [
    lines(
      'A cycle',
      'seconds',
      [SIGMA, POINTS].flatMap((of) => [cycles(of, 'p99'), cycles(of, 'max')]),
    ),
    lines('What is predicted of a job', 'seconds', [predictions(SIGMA, 'p50'), predictions(SIGMA, 'p99')]),
    lines('Jobs with a deadline that missed it', 'share of them', [misses(SIGMA)]),
  ],
  claims: claims('§6.5', {
    'Each plan is made within its cycle of 10 s': isAtMost(cycles(SIGMA, 'max'), 10),
    '99% of the plans are made within half of it': isAtMost(cycles(SIGMA, 'p99'), 5),
    'A prediction takes 14 ms at most (accepted: 1 ms for 99% of them)': isAtMost(
      predictions(SIGMA, 'p99'),
      0.001,
    ),
    'The longest cycle is longer with distributions than with points': isBelow(
      cycles(POINTS, 'max'),
      cycles(SIGMA, 'max'),
    ),
  }),
};

export const THREE_SIGMA_FIGURES: readonly Figure[] = [
  first,
  overall,
  workloads,
  slack,
  shifts,
  load,
  samples,
  scale,
  table2,
  weights,
];
