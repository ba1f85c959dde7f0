import { ONE_PLACE, settingAxis } from '../axis.js';
import type { Figure, Series } from '../figure.js';
import { at, falls, isBelow, isMuchBetter, rises } from '../judging/index.js';
import {
  bestEffortGoodput,
  bestEffortSeconds,
  goodput,
  isNear,
  isTimes,
  misses,
  over,
  SIGMA,
  TWO_HOURS,
  variants,
} from './common.js';

const FIELD = [SIGMA, 'point-perf', 'point-real', 'prio'] as const;
const PARTS = [SIGMA, '3sigma-nodist', '3sigma-nooe', '3sigma-noadapt', 'point-perf', 'point-real'] as const;

const GANGS =
  'Gangs over the books of central, without messages; a policy that knows nothing learns from 10,000 jobs before.';

function panels(policies: readonly string[], axisName: string): Figure['panels'] {
  const drawn = (title: string, what: string, of: (policy: string) => Series) => ({
    kind: axisName === '' ? ('bars' as const) : ('lines' as const),
    title,
    axisName: what,
    series: policies.map(of),
  });
  return [
    drawn('Jobs with a deadline that missed it', 'share of them', misses),
    drawn('Goodput', 'node hours', goodput),
    drawn('Goodput of best-effort jobs', 'node hours', bestEffortGoodput),
    drawn('Best-effort jobs, mean time to completion', 'seconds', bestEffortSeconds),
  ];
}

const overall: Figure = {
  ...TWO_HOURS,
  id: '3sigma-6',
  title: 'Deadlines, by distributions of run times and by points',
  section: '§6.1, Figures 1 and 6',
  about: `Two hours of jobs at a load of 1.4, half of them with a deadline. ${GANGS}`,
  axis: ONE_PLACE,
  variants: variants(...FIELD),
  panels: panels(FIELD, ''),
  claims: [
    {
      section: '§6.1',
      text: 'PointRealEst misses 4.0 times as many deadlines as 3Sigma (accepted: 3 times)',
      judge: isTimes(misses('point-real'), misses(SIGMA), 3),
    },
    {
      section: '§6.1',
      text: 'Prio misses 2.3 times as many (accepted: twice)',
      judge: isTimes(misses('prio'), misses(SIGMA), 2),
    },
    {
      section: '§6.1',
      text: '3Sigma misses hardly more than PointPerfEst (accepted: 5% of the jobs)',
      judge: isNear(misses(SIGMA), misses('point-perf'), 0.05),
    },
    {
      section: '§6.1',
      text: "PointRealEst's goodput is 5.4% below 3Sigma's (accepted: 3%)",
      judge: isMuchBetter([over(goodput('point-real'), goodput(SIGMA))], 0.03),
    },
    {
      section: '§6.1',
      text: "Prio's goodput of best-effort jobs is much less than PointRealEst's",
      judge: isMuchBetter([over(bestEffortGoodput('prio'), bestEffortGoodput('point-real'))], 0.1),
    },
  ],
};

const slack: Figure = {
  ...TWO_HOURS,
  id: '3sigma-8',
  title: 'What each part of 3Sigma gives, by deadline slack',
  section: '§6.2, Figure 8',
  about: `The same with one deadline slack for all jobs, in per cent of the run time. ${GANGS}`,
  axis: settingAxis('deadline slack', 'linear', [20, 60, 100, 140, 180], (percent) => ({
    x: percent,
    label: `${percent}%`,
    settings: { slack: percent },
  })),
  variants: variants(...PARTS),
  panels: panels(PARTS, 'deadline slack'),
  claims: [
    {
      section: '§6.2',
      text: 'Without distributions more deadlines are missed than with them',
      judge: isBelow(misses(SIGMA), misses('3sigma-nodist')),
    },
    {
      section: '§6.2',
      text: 'Without distributions fewer are missed than by PointRealEst',
      judge: isBelow(misses('3sigma-nodist'), misses('point-real')),
    },
    {
      section: '§6.2',
      text: 'At the least slack, to allow for over-estimates always is better than never',
      judge: isBelow(misses('3sigma-noadapt'), misses('3sigma-nooe'), at(20)),
    },
    {
      section: '§6.2',
      text: 'To allow for them always costs best-effort jobs more than to do so where it is needed',
      judge: isBelow(bestEffortGoodput('3sigma-noadapt'), bestEffortGoodput(SIGMA)),
    },
    {
      section: '§6.2',
      text: 'More slack means fewer misses',
      judge: falls(PARTS.map(misses)),
    },
  ],
};

const load: Figure = {
  ...TWO_HOURS,
  id: '3sigma-10',
  title: 'Deadlines by load',
  section: '§6.4, Figure 10',
  about: `The same at other loads. ${GANGS}`,
  axis: settingAxis('load', 'linear', [1, 1.2, 1.4, 1.6], (value) => ({
    x: value,
    label: `${value}`,
    settings: { load: value },
  })),
  variants: variants(...FIELD),
  panels: panels(FIELD, 'load'),
  claims: [
    { section: '§6.4', text: 'Misses rise with load under all', judge: rises(FIELD.map(misses)) },
    {
      section: '§6.4',
      text: '3Sigma misses fewer than PointRealEst at every load',
      judge: isBelow(misses(SIGMA), misses('point-real')),
    },
    {
      section: '§6.4',
      text: '3Sigma misses fewer than Prio at every load',
      judge: isBelow(misses(SIGMA), misses('prio')),
    },
    {
      section: '§6.4',
      text: '3Sigma is close to PointPerfEst at every load (accepted: 5% of the jobs)',
      judge: isNear(misses(SIGMA), misses('point-perf'), 0.05),
    },
  ],
};

const samples: Figure = {
  ...TWO_HOURS,
  id: '3sigma-11',
  title: 'Deadlines by what has been seen of each program',
  section: '§6.4, Figure 11',
  about: `The same where so many runs of each program are known, and nothing is learnt on the way. ${GANGS}`,
  axis: settingAxis('samples', 'even', [5, 10, 25, 50, 100], (count) => ({
    x: count,
    label: `${count}`,
    settings: { samples: count },
  })),
  variants: variants(...FIELD),
  panels: panels(FIELD, 'samples'),
  claims: [
    {
      section: '§6.4',
      text: '3Sigma misses fewer than PointRealEst at every number of samples',
      judge: isBelow(misses(SIGMA), misses('point-real')),
    },
    {
      section: '§6.4',
      text: 'From 25 samples on 3Sigma is close to PointPerfEst (accepted: 5% of the jobs)',
      judge: isNear(misses(SIGMA), misses('point-perf'), 0.05, at(25, 50, 100)),
    },
    { section: '§6.4', text: 'More samples mean fewer misses under 3Sigma', judge: falls([misses(SIGMA)]) },
  ],
};

export const THREE_SIGMA_FIGURES: readonly Figure[] = [overall, slack, load, samples];
