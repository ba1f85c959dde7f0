import { inPercent, labelledAxis, SINGLE_POINT, settingAxis, withThousands } from '../axis.js';
import {
  bars,
  claims,
  type Figure,
  type Judge,
  lines,
  type Paper,
  policies,
  type Series,
  type Variant,
} from '../figure.js';
import { format } from '../format.js';
import {
  at,
  between,
  falls,
  from,
  isAbout,
  isBelow,
  isEveryTimes,
  isMuchBetter,
  isNear,
  isTimes,
  judgeMeasured,
  judgement,
  neverExceeds,
  only,
  rises,
  staysWithin,
} from '../judging/index.js';
import type { Planned } from '../point.js';
import { additions, DEFAULT_POLICY, over, seriesOf } from '../series.js';

const THREE_SIGMA: Paper = {
  name: '3Sigma',
  reference:
    'J. W. Park, A. Tumanov, A. Jiang, M. A. Kozuch, G. R. Ganger: 3Sigma: Distribution-based Cluster Scheduling for Runtime Uncertainty, EuroSys 2018',
};

/** The paper's E2E of two hours with 600 jobs, on its cluster of 256 nodes in 8 racks. */
const TWO_HOURS: Pick<Figure, 'mode' | 'workload' | 'settings' | 'paper'> = {
  mode: 'planned',
  paper: THREE_SIGMA,
  workload: { generator: 'e2e', jobs: 600, paperJobs: 600, isReplaceable: false },
  settings: { workers: 256 },
};

/** The paper's E2E of five hours. Two fifths of its jobs run by default (`--jobs`). */
const FIVE_HOURS: typeof TWO_HOURS = {
  ...TWO_HOURS,
  workload: { ...TWO_HOURS.workload, paperJobs: 1_500 },
};

const SIGMA = '3sigma-sched';
/** The compared policies (§5). */
const FIELD = [SIGMA, 'point-perf', 'point-real', 'prio'] as const;
/** The compared policies and the default policy. */
const ALL = [DEFAULT_POLICY, ...FIELD] as const;

const GANGS =
  'Gangs are scheduled by the policy alone, without messages; policies without perfect estimates first learn from 10,000 jobs.';

function series(
  name: string,
  unit: Series['unit'],
  of: string,
  value: (planned: Planned) => number | undefined,
) {
  return seriesOf(name, unit, 'planned', of, value);
}

const misses = (of: string) => series(of, 'share', of, ({ missed }) => missed);

const goodput = (of: string) =>
  series(`${of}, all`, 'hours', of, ({ goodputHours }) => goodputHours.deadline + goodputHours.bestEffort);

const bestEffortGoodput = (of: string) =>
  series(`${of}, best effort`, 'hours', of, ({ goodputHours }) => goodputHours.bestEffort);

const bestEffortSeconds = (of: string) =>
  series(of, 'seconds', of, ({ bestEffortSeconds: seconds }) => seconds);

/** Wall time of planning cycles under a policy. */
const cycles = (of: string, part: 'p99' | 'max') =>
  series(`${of}, ${part}`, 'seconds', of, ({ cycleSeconds }) => cycleSeconds?.[part]);

const predictions = (of: string, part: 'p50' | 'p99' | 'max') =>
  series(`${of}, ${part}`, 'seconds', of, ({ predictionSeconds }) => predictionSeconds?.[part]);

/** Claims that 3Sigma misses fewer deadlines than another policy. @param where in words: "under each" */
const missesFewer = (name: string, of: string, where: string): Record<string, Judge> => ({
  [`3Sigma misses fewer than ${name} ${where}`]: isBelow(misses(SIGMA), misses(of)),
});

const IS_CLOSE_TO_PERFECT = isNear(misses(SIGMA), misses('point-perf'), 0.01);

/** @param where in words */
const isCloseToPerfect = (where: string, judge = IS_CLOSE_TO_PERFECT): Record<string, Judge> => ({
  [`3Sigma is close to PointPerfEst ${where} (accepted: 1% of the jobs)`]: judge,
});

/**
 * Claims that 3Sigma misses fewer deadlines than policies with less information, and hardly more than with
 * perfect estimates.
 */
const comparedByMisses = (where: string): Record<string, Judge> => ({
  ...missesFewer('PointRealEst', 'point-real', where),
  ...missesFewer('Prio', 'prio', where),
  ...isCloseToPerfect(where),
});

/** Claims that 3Sigma completes more work than policies with less information. */
const completesMore = (where: string): Record<string, Judge> => ({
  [`“3Sigma constantly outperforms PointRealEst … on … Goodput”${where}`]: isBelow(
    goodput('point-real'),
    goodput(SIGMA),
  ),
  [`“3Sigma constantly outperforms … Prio on … Goodput”${where}`]: isBelow(goodput('prio'), goodput(SIGMA)),
});

/** @param isOrdered whether the points of the axis have an order, so that lines may join them */
function panelsOf(policies: readonly string[], isOrdered = true): Figure['panels'] {
  const drawn = (title: string, what: string, of: (policy: string) => Series) => ({
    kind: isOrdered ? ('lines' as const) : ('bars' as const),
    title,
    axisName: what,
    series: policies.flatMap((policy) => (policy === DEFAULT_POLICY ? additions(of(policy)) : [of(policy)])),
  });
  return [
    drawn('Jobs with a deadline that missed it', 'share of jobs', misses),
    drawn('Goodput', 'node hours', goodput),
    drawn('Goodput of best-effort jobs', 'node hours', bestEffortGoodput),
    drawn('Best-effort jobs, mean time to completion', 'seconds', bestEffortSeconds),
  ];
}

const PARTS = [SIGMA, '3sigma-nodist', '3sigma-nooe', '3sigma-noadapt', 'point-perf', 'point-real'] as const;

/** Time to completion of best-effort jobs under the other policies, over that under 3Sigma. */
const LATENCIES = FIELD.slice(1).map((of) => over(bestEffortSeconds(of), bestEffortSeconds(SIGMA), of));

const overall: Figure = {
  ...TWO_HOURS,
  id: '3sigma-6',
  title: 'Missed deadlines with distributions of run times and with point estimates',
  section: '§6.1, Figure 6',
  about: `Two hours of jobs at a load of 1.4, half of them with a deadline. ${GANGS}`,
  axis: SINGLE_POINT,
  variants: policies(...ALL),
  panels: panelsOf(ALL, false),
  claims: claims('§6.1', {
    'PointRealEst misses 4.0 times as many deadlines as 3Sigma (accepted: 3.3 to 4.8 times)': isTimes(
      misses('point-real'),
      misses(SIGMA),
      4,
    ),
    'Prio misses 2.3 times as many deadlines as 3Sigma (accepted: 1.9 to 2.8 times)': isTimes(
      misses('prio'),
      misses(SIGMA),
      2.3,
    ),
    '3Sigma misses hardly more deadlines than PointPerfEst (accepted: 1% of the jobs)': IS_CLOSE_TO_PERFECT,
    "PointRealEst's goodput is 5.4% below 3Sigma's (accepted: 3% to 8%)": isAbout(
      over(goodput('point-real'), goodput(SIGMA)),
      1 - 0.054,
      0.026,
    ),
    "Prio's goodput of best-effort jobs is much less than PointRealEst's (accepted: 20%)": isMuchBetter(
      [over(bestEffortGoodput('prio'), bestEffortGoodput('point-real'))],
      0.2,
    ),
    ...completesMore(' (Figure 6)'),
    '3Sigma “completes fewer best-effort jobs” than PointPerfEst': isBelow(
      bestEffortGoodput(SIGMA),
      bestEffortGoodput('point-perf'),
    ),
    '“BE latency is similar across all system” (accepted: 10% of 3Sigma’s)': staysWithin(LATENCIES, {
      least: 0.9,
      most: 1.1,
    }),
    '3Sigma “improves or matches latency for best effort jobs” (abstract; accepted: 10%)': staysWithin(
      LATENCIES,
      {
        least: 0.9,
        most: Number.POSITIVE_INFINITY,
      },
    ),
  }),
};

const first: Figure = {
  ...overall,
  id: '3sigma-1',
  title: 'Missed deadlines',
  section: '§1, Figure 1',
  panels: overall.panels.slice(0, 1),
  claims: overall.claims.slice(0, 3),
};

const workloads: Figure = {
  ...FIVE_HOURS,
  id: '3sigma-7',
  title: 'Missed deadlines under three workloads',
  section: '§6.1, Figure 7',
  about: `The HedgeFund and Mustang traces are not public; these workloads are generated from the paper’s description of their predictability. ${GANGS}`,
  axis: labelledAxis('workload', {
    e2e: { generator: 'e2e' },
    'hedgefund-like': { generator: 'hedgefund-like' },
    'mustang-like': { generator: 'mustang-like' },
  }),
  variants: policies(...ALL),
  panels: panelsOf(ALL, false),
  claims: claims('§6.1', {
    ...comparedByMisses('under each'),
    'Under HedgeFund and Mustang, 3Sigma misses slightly fewer deadlines than PointPerfEst': only(
      at(1, 2),
      isBelow(misses(SIGMA), misses('point-perf')),
    ),
    ...completesMore(' under each (Figure 7)'),
  }),
};

const slack: Figure = {
  ...FIVE_HOURS,
  id: '3sigma-8',
  title: 'Contribution of each part of 3Sigma, by deadline slack',
  section: '§6.2, Figure 8',
  about: `The same experiment with one deadline slack for all jobs, in percent of the run time. ${GANGS}`,
  axis: settingAxis('deadline slack', 'linear', [20, 60, 100, 140, 180], (slack) => ({ slack }), inPercent),
  variants: policies(...PARTS),
  panels: panelsOf(PARTS),
  claims: claims('§6.2', {
    'Without distributions, 3Sigma misses more deadlines': isBelow(misses(SIGMA), misses('3sigma-nodist')),
    'Without distributions, 3Sigma misses fewer deadlines than PointRealEst': isBelow(
      misses('3sigma-nodist'),
      misses('point-real'),
    ),
    'At the smallest slack, always allowing for over-estimates is better than never': only(
      at(20),
      isBelow(misses('3sigma-noadapt'), misses('3sigma-nooe')),
    ),
    'Always allowing for over-estimates costs best-effort jobs more than doing so when needed': isBelow(
      bestEffortGoodput('3sigma-noadapt'),
      bestEffortGoodput(SIGMA),
    ),
    'More slack means fewer misses': falls(PARTS.map(misses)),
    '“3SigmaNoOE drops SLO miss rate to the level of PointPerfEst for most deadline slacks” (60% to 180%; accepted: 1% of the jobs)':
      only(from(60), isNear(misses('3sigma-nooe'), misses('point-perf'), 0.01)),
    '“Best effort goodput decreases for all systems” with more slack (§6.4)': falls(
      PARTS.map(bestEffortGoodput),
    ),
  }),
};

const load: Figure = {
  ...FIVE_HOURS,
  id: '3sigma-10',
  title: 'Missed deadlines by load',
  section: '§6.4, Figure 10',
  about: `The same experiment at other loads. ${GANGS}`,
  axis: settingAxis('load', 'linear', [1, 1.2, 1.4, 1.6], (load) => ({ load })),
  variants: policies(...ALL),
  panels: panelsOf(ALL),
  claims: claims('§6.4', {
    'Misses rise with load under all policies': rises(FIELD.map(misses)),
    ...comparedByMisses('at every load'),
    '“As the load increases, all systems increasingly prioritize SLO jobs, decreasing BE goodput”': falls(
      FIELD.map(bestEffortGoodput),
    ),
    '“The gap between the BE goodputs of PointPerfEst and 3Sigma widens”': rises([
      over(bestEffortGoodput('point-perf'), bestEffortGoodput(SIGMA)),
    ]),
  }),
};

const samples: Figure = {
  ...FIVE_HOURS,
  id: '3sigma-11',
  title: 'Missed deadlines by the number of earlier runs of each program',
  section: '§6.4, Figure 11',
  about: `The same experiment with a fixed number of known runs of each program, and no learning during the experiment. ${GANGS}`,
  axis: settingAxis('samples', 'log', [5, 10, 25, 50, 100], (samples) => ({ samples })),
  variants: policies(...ALL),
  panels: panelsOf(ALL),
  claims: claims('§6.4', {
    ...missesFewer('PointRealEst', 'point-real', 'at every number of samples'),
    ...isCloseToPerfect('from 25 samples on', only(at(25, 50, 100), IS_CLOSE_TO_PERFECT)),
    'More samples mean fewer misses under 3Sigma': falls([misses(SIGMA)]),
    '“From 5 to 25” samples, PointRealEst misses fewer, too': only(
      between(5, 25),
      falls([misses('point-real')]),
    ),
  }),
};

const SPREADS = [10, 20, 50];
const POINT = 'point';
const spreadName = (percent: number) => `CoV ${percent}%`;
const [NARROW, MIDDLE, WIDE] = SPREADS.map(spreadName) as [string, string, string];

const shifts: Figure = {
  ...TWO_HOURS,
  id: '3sigma-9',
  title: 'Missed deadlines by error and width of the distributions',
  section: '§6.3, Figure 9',
  about:
    'The estimate of a run time is a normal distribution around the true value, shifted by a fraction of it, or only its mean.',
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
  panels: panelsOf([POINT, NARROW, MIDDLE, WIDE]),
  claims: claims('§6.3', {
    ...Object.fromEntries(
      [NARROW, MIDDLE, WIDE].map((of) => [
        `A distribution (${of}) is better than a point, regardless of the shift`,
        isBelow(misses(of), misses(POINT)),
      ]),
    ),
    'Without a shift, a point misses twice as many deadlines (accepted: 1.7 to 2.4 times)': only(
      at(0),
      isTimes(misses(POINT), misses(MIDDLE), 2),
    ),
    'With shifts up to 20%, narrow distributions are better than wide ones': only(
      at(-20, 0, 20),
      isBelow(misses(NARROW), misses(WIDE)),
    ),
    'With larger shifts, wide distributions are better': only(
      at(-50, 50, 100),
      isBelow(misses(WIDE), misses(NARROW)),
    ),
  }),
};

const POINTS = '3sigma-nodist';

const scale: Figure = {
  ...TWO_HOURS,
  id: '3sigma-12',
  isTimed: true,
  title: 'Planning for 12,583 nodes',
  section: '§6.5, Figure 12',
  about:
    "Google's cluster at a load of 0.95, with run times stretched for fewer jobs per hour. Times are wall-clock times, the longest of the seeds, and depend on the machine and its load.",
  workload: { generator: 'e2e', jobs: 4_000, paperJobs: 20_000, isReplaceable: false },
  settings: { workers: 12_583, load: 0.95 },
  axis: settingAxis('jobs per hour', 'linear', [2_000, 3_000, 4_000], (rate) => ({ rate }), withThousands),
  variants: policies(SIGMA, POINTS),
  panels: [
    lines(
      'A cycle',
      'seconds',
      [SIGMA, POINTS].flatMap((of) => [cycles(of, 'p99'), cycles(of, 'max')]),
    ),
    lines('Time of a prediction', 'seconds', [predictions(SIGMA, 'p50'), predictions(SIGMA, 'p99')]),
    lines('Jobs with a deadline that missed it', 'share of jobs', [misses(SIGMA)]),
  ],
  claims: [
    ...claims('§6.5', {
      'A prediction takes at most 14 ms': neverExceeds(predictions(SIGMA, 'max'), 0.014),
      'The longest cycle is longer with distributions than with points': isBelow(
        cycles(POINTS, 'max'),
        cycles(SIGMA, 'max'),
      ),
    }),
    ...claims('ours', {
      'Each plan is made within its cycle of 10 s': neverExceeds(cycles(SIGMA, 'max'), 10),
      '99% of the plans are made within half a cycle': neverExceeds(cycles(SIGMA, 'p99'), 5),
    }),
  ],
};

type Half = 'live' | 'simulated';
const HALVES: readonly Half[] = ['live', 'simulated'];
const SHOWN = FIELD.flatMap((policy) => HALVES.map((half) => nameOf(policy, half)));

const VARIANTS: readonly Variant[] = FIELD.flatMap((policy) =>
  HALVES.map((mode) => ({
    name: nameOf(policy, mode),
    mode,
    settings: { policy, estimator: policy === 'point-perf' ? 'oracle' : 'history' },
  })),
);

const table2: Figure = {
  id: '3sigma-table-2',
  title: 'Missed deadlines, live and simulated',
  paper: THREE_SIGMA,
  section: '§6.1, Table 2',
  about:
    'Jobs at a load of 1.4, half of them with a deadline, on workers in 8 racks and one scheduler, all processes of this ' +
    'machine; and a simulation of the same jobs at the same times. All times, including those of the policies, are divided ' +
    'by the same factor. Estimators learn during the run.',
  mode: 'live',
  isTimed: true,
  workload: { generator: 'e2e', options: 'nodes=32', jobs: 240, paperJobs: 600, isReplaceable: false },
  settings: {
    workers: 32,
    schedulers: 1,
    load: 1.4,
    scale: 10,
    durations: 'task',
    attribute: ['rack=r1,r2,r3,r4,r5,r6,r7,r8'],
    set: ['cycleMs=10000', 'afterDeadline=abandon'],
  },
  axis: SINGLE_POINT,
  variants: VARIANTS,
  panels: [
    bars('Jobs with a deadline that missed it', 'share of jobs', SHOWN.map(misses)),
    bars('Goodput', 'slot hours', SHOWN.map(goodput)),
    bars('Best-effort jobs, mean time to completion', 'seconds', SHOWN.map(bestEffortSeconds)),
  ],
  claims: claims('§6.1', {
    'Misses, live and simulated, are 0.3 to 2% of the jobs apart (accepted: 3%)': areNear(misses, 0.03),
    'Goodput is about 5% apart (accepted: 5%)': areAlike(goodput, 0.05),
    'The latencies of best-effort jobs are about 10 s apart (accepted: 10%)': areAlike(
      bestEffortSeconds,
      0.1,
    ),
    ...Object.fromEntries(
      HALVES.flatMap((half) =>
        ['point-real', 'prio'].map((other) => [
          `3Sigma misses fewer than ${other}, ${half}`,
          isBelow(misses(nameOf(SIGMA, half)), misses(nameOf(other, half))),
        ]),
      ),
    ),
  }),
};

function nameOf(policy: string, half: Half): string {
  return `${policy}, ${half}`;
}

/** Judges whether live and simulated values of each policy differ by at most `by`; in direction up to twice that. */
function areNear(of: (name: string) => Series, by: number): Judge {
  return differsBy(of, (live, simulated) => Math.abs(live - simulated), by);
}

/** Like `areNear`, with the difference relative to the simulated value. */
function areAlike(of: (name: string) => Series, by: number): Judge {
  return differsBy(of, (live, simulated) => Math.abs(live / simulated - 1), by);
}

function differsBy(
  of: (name: string) => Series,
  difference: (live: number, simulated: number) => number,
  by: number,
): Judge {
  return judgeMeasured('alike', SHOWN.map(of), ([place]) => {
    const differences = FIELD.map((_, i) => difference(place!.values[2 * i]!, place!.values[2 * i + 1]!));
    const shown = FIELD.map((policy, i) => `${policy} ${format(differences[i], 'share')}`);
    const most = Math.max(...differences);
    return judgement(shown.join(', '), most <= by, most <= 2 * by);
  });
}

const WEIGHED = [SIGMA, 'prio'] as const;
/** Parameters that the paper does not specify, changed one at a time, by label; the first is our choice. */
const CHANGES = {
  ours: { set: [] },
  'vSLO 3': { set: ['vSlo=3'] },
  'vSLO 30': { set: ['vSlo=30'] },
  'θ 0': { set: ['oeThreshold=0'] },
  'θ 0.2': { set: ['oeThreshold=0.2'] },
  'γ 0.5': { set: ['tail=0.5'] },
};

const weights: Figure = {
  ...TWO_HOURS,
  id: '3sigma-weights',
  title: 'Parameters that the paper omits: weights, θ and γ',
  section: '§4.2, §4.3.2',
  about: `The value of meeting a deadline relative to a best-effort job (default: 10), the probability of meeting the deadline below which a job has value after it (θ, default: 0.05), and the fraction of the value that remains then (γ, default: 1). ${GANGS}`,
  axis: labelledAxis('setting', CHANGES),
  variants: policies(...WEIGHED),
  panels: panelsOf(WEIGHED, false),
  claims: claims('ours', {
    'Prio misses twice as many deadlines as 3Sigma, under every setting': isEveryTimes(
      misses('prio'),
      misses(SIGMA),
      2,
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
