import { SINGLE_POINT, settingAxis } from '../axis.js';
import {
  bars,
  claims,
  type Figure,
  lines,
  type Panel,
  type Paper,
  policies,
  type Series,
} from '../figure.js';
import {
  at,
  differsByAbout,
  isAbout,
  isAtMost,
  isBelow,
  isBetter,
  only,
  rises,
  shareIsWithin,
  staysWithin,
} from '../judging/index.js';
import type { Staged } from '../point.js';
import { additions, DEFAULT_POLICY, over, seriesOf } from '../series.js';

const CARBYNE: Paper = {
  name: 'Carbyne',
  reference:
    'R. Grandl, M. Chowdhury, A. Akella, G. Ananthanarayanan: Altruistic Scheduling in Multi-Resource Clusters, OSDI 2016',
};

/** Carbyne as published. The policy `carbyne` is our variant of it (docs/CARBYNE.md). */
const PAPER = 'carbyne-paper';
/** The paper's policies. Each job is compared with the same job under the first policy. */
const FIELD = ['drf', PAPER, 'tetris', 'sjf'] as const;
/** Policies that the paper does not compare. */
const OURS = ['carbyne', 'carbyne-pack', 'srtf', DEFAULT_POLICY] as const;

/**
 * Number of machines at which the mean completion time under DRF is two to four times the mean critical path.
 * At lower load all policies are alike; at much higher load only the order of jobs matters.
 */
const MACHINES = 28;

const MACHINES_AND_JOBS =
  'Staged jobs are scheduled by the policy alone, without messages, on machines with 20 cores and six resources (the ' +
  'paper: 100 machines at a load of 1×). ' +
  `${PAPER} is Carbyne as published; the paper does not compare ${OURS.join(', ')}.`;

function series(of: string, unit: Series['unit'], value: (staged: Staged) => number): Series {
  return seriesOf(of, unit, 'staged', of, value);
}

const mean = (of: string) => series(of, 'seconds', ({ meanSeconds }) => meanSeconds);
const p95 = (of: string) => series(of, 'seconds', ({ p95Seconds }) => p95Seconds);
const makespan = (of: string) => series(of, 'seconds', ({ makespanSeconds }) => makespanSeconds);
const fairness = (of: string) => series(of, 'index', (staged) => staged.fairness);
const slower = (of: string) => series(of, 'share', (staged) => staged.slower);
const muchSlower = (of: string) => series(of, 'share', (staged) => staged.muchSlower);

const THREE_WAYS: readonly Panel[] = [
  bars('Fairness (Jain): allocations of jobs ÷ what they could use', 'index', beside(FIELD, OURS, fairness)),
  bars('Mean completion time', 'seconds', beside(FIELD, OURS, mean)),
  bars('Makespan', 'seconds', beside(FIELD, OURS, makespan)),
];

/** Series of the paper's policies, then those of others. */
function beside(
  paper: readonly string[],
  others: readonly string[],
  of: (policy: string) => Series,
): Series[] {
  return [...paper.map(of), ...additions(...others.map(of))];
}

const OVER_CARBYNE = over(mean('drf'), mean(PAPER));
const longer = (of: string) => over(mean(of), mean(PAPER));
const later = (of: string) => over(makespan(of), makespan('tetris'));
/** Fraction of the paper's ratio that is accepted. */
const WITHIN = 0.1;

const OVER_OTHERS = lines(
  'Mean completion time under DRF ÷ that under other policies',
  'times',
  beside([PAPER, 'tetris'], OURS, (of) => over(mean('drf'), mean(of))),
);

const common = {
  paper: CARBYNE,
  mode: 'staged',
  settings: { workers: MACHINES },
  axis: SINGLE_POINT,
  variants: policies(...FIELD, ...OURS),
} as const satisfies Partial<Figure>;

const workload = (options: string): Figure['workload'] => ({
  generator: 'dag-like',
  options,
  jobs: 100,
  paperJobs: 250,
  isReplaceable: false,
});

const ONLINE = workload('interarrival=12');

const offline: Figure = {
  ...common,
  id: 'carbyne-4',
  title: 'Fairness, completion times and makespan, all jobs at once',
  section: '§5.2.1, Figure 4',
  about: `All jobs are submitted together. ${MACHINES_AND_JOBS}`,
  workload: workload('arrivals=together'),
  panels: THREE_WAYS,
  claims: claims('§5.2.1', {
    '“CARBYNE is only 0.05 units away” from DRF’s fairness (accepted: ±0.02)': differsByAbout(
      fairness('drf'),
      fairness(PAPER),
      0.05,
      0.02,
    ),
    '“Tetris is off by 0.12 units” (accepted: ±0.03)': differsByAbout(
      fairness('drf'),
      fairness('tetris'),
      0.12,
      0.03,
    ),
    '“SJF by 0.22” (accepted: ±0.05)': differsByAbout(fairness('drf'), fairness('sjf'), 0.22, 0.05),
    '“The average JCT is improved the most by SJF, and CARBYNE provides only 1.06× worse” (accepted: ±10%)':
      isAbout(over(mean(PAPER), mean('sjf')), 1.06, WITHIN),
    '“Tetris and DRF are off by 1.46×” and 1.59× from SJF: Tetris (accepted: ±10%)': isAbout(
      over(mean('tetris'), mean('sjf')),
      1.46,
      WITHIN,
    ),
    'the same: DRF, 1.59× (accepted: ±10%)': isAbout(over(mean('drf'), mean('sjf')), 1.59, WITHIN),
    'DRF’s completion times are 1.59 ÷ 1.06 = 1.5 times Carbyne’s; our quotient (accepted: ±10%)': isAbout(
      OVER_CARBYNE,
      1.5,
      WITHIN,
    ),
    '“Tetris provides the highest cluster efficiency”: its makespan is below DRF’s': isBelow(
      makespan('tetris'),
      makespan('drf'),
    ),
    '“CARBYNE is only 1.03× worse than Tetris” in makespan (accepted: ±10%)': isAbout(
      later(PAPER),
      1.03,
      WITHIN,
    ),
    '“DRF and SJF are off by 1.26× and 1.43×” in makespan: DRF (accepted: ±10%)': isAbout(
      later('drf'),
      1.26,
      WITHIN,
    ),
    'the same: SJF, 1.43× (accepted: ±10%)': isAbout(later('sjf'), 1.43, WITHIN),
  }),
};

const online: Figure = {
  ...common,
  id: 'carbyne-5',
  title: 'Fairness, completion times and makespan, jobs one by one',
  section: '§5.2.1, Figures 5 and 7',
  about: `Jobs arrive one by one, 12 s apart on average. ${MACHINES_AND_JOBS}`,
  workload: ONLINE,
  panels: [
    ...THREE_WAYS,
    bars('Jobs that take longer than under DRF', 'share of jobs', beside(FIELD.slice(1), OURS, slower)),
  ],
  claims: [
    ...claims('§5.2.1', {
      '“CARBYNE can closely match DRF (0.06 units worse)” in fairness (accepted: ±0.02)': differsByAbout(
        fairness('drf'),
        fairness(PAPER),
        0.06,
        0.02,
      ),
      '“SJF (1.2× worse)” in completion times (accepted: ±10%)': isAbout(
        over(mean(PAPER), mean('sjf')),
        1.2,
        WITHIN,
      ),
      '“Tetris (1.07× worse)” in makespan (accepted: ±10%)': isAbout(later(PAPER), 1.07, WITHIN),
    }),
    ...claims('§5.2.2', {
      '“CARBYNE speeds up jobs by 1.36× on average” over DRF (accepted: ±10%)': isAbout(
        OVER_CARBYNE,
        1.36,
        WITHIN,
      ),
      '“and 1.88× at the 95th percentile” (accepted: ±10%)': isAbout(
        over(p95('drf'), p95(PAPER)),
        1.88,
        WITHIN,
      ),
      '“CARBYNE’s improvements are similar against Tetris”: 1.36× (accepted: ±10%)': isAbout(
        longer('tetris'),
        1.36,
        WITHIN,
      ),
    }),
    ...claims('§5.2.3', {
      '“Only 16% of the jobs slow down” (accepted: ±4 points)': shareIsWithin(slower(PAPER), 0.16, 0.04),
      '“No more than 4% of the jobs slow down more than 0.8×”': isAtMost(muchSlower(PAPER), 0.04),
    }),
  ],
};

/** The time in which this percentage of the jobs complete under Carbyne, over that under another policy. */
const longerAt = (percent: number, of: string) => {
  const at = (policy: string) => series(policy, 'seconds', ({ percentiles }) => percentiles[percent]!);
  return over(at(PAPER), at(of), `p${percent}`);
};
const COMPARED = ['drf', PAPER, 'tetris'] as const;

const distribution: Figure = {
  ...common,
  id: 'carbyne-6',
  title: 'Distribution of completion times, jobs one by one',
  section: '§5.2.2, Figure 6',
  about: `Jobs arrive one by one, 12 s apart on average. ${MACHINES_AND_JOBS}`,
  workload: ONLINE,
  variants: policies(...COMPARED, ...OURS),
  panels: [
    { kind: 'distribution', title: 'Completion times', of: 'staged', variants: [...COMPARED, ...OURS] },
  ],
  claims: claims('§5.2.2', {
    '“Only two highest percentiles are worse off” than under Tetris: the others are not (5% to 98%)':
      isBetter([5, 25, 50, 75, 90, 95, 98].map((percent) => longerAt(percent, 'tetris'))),
    'The two highest are worse “by at most 1.1×”': staysWithin(
      [99, 100].map((percent) => longerAt(percent, 'tetris')),
      { least: 0, most: 1.1 },
    ),
  }),
};

const workersAt = (load: number) => ({ workers: MACHINES / load });

const load: Figure = {
  ...common,
  id: 'carbyne-9',
  title: 'Completion times by load',
  section: '§5.4.1, Figure 9',
  about: `The same jobs run on fewer machines, which multiplies the load. ${MACHINES_AND_JOBS}`,
  workload: ONLINE,
  axis: settingAxis('load', 'log', [0.5, 1, 2, 4], workersAt, (load) => `${load}×`),
  variants: policies('drf', PAPER, 'tetris', ...OURS),
  panels: [OVER_OTHERS],
  claims: claims('§5.4.1', {
    '“As we increase resource contention, CARBYNE’s gains keep increasing”': rises([OVER_CARBYNE]),
    '“At 1× cluster load, CARBYNE improves over alternatives by up to 1.57×” (accepted: ±10%)': only(
      at(1),
      isAbout(OVER_CARBYNE, 1.57, WITHIN),
    ),
    '“At 2× the load, its gains are between 1.76× and 1.91×”: over DRF, 1.76 (accepted: ±10%)': only(
      at(2),
      isAbout(OVER_CARBYNE, 1.76, WITHIN),
    ),
  }),
};

const errorOf = (percent: number) => ({ estimateError: percent / 100 });

const errors: Figure = {
  ...common,
  id: 'carbyne-10',
  title: 'Completion times by estimation error',
  section: '§5.4.2, Figure 10',
  about: `The estimated run time of each stage is wrong by a random factor up to the given error. ${MACHINES_AND_JOBS}`,
  workload: ONLINE,
  axis: settingAxis('errors', 'linear', [0, 25, 50], errorOf, (percent) => `±${percent}%`),
  variants: policies('drf', PAPER, 'tetris', ...OURS),
  panels: [OVER_OTHERS],
  claims: claims('§5.4.2', {
    'With errors of 50%, Carbyne is still better than DRF': only(at(50), isBelow(mean(PAPER), mean('drf'))),
  }),
};

const altruism: Figure = {
  ...common,
  id: 'carbyne-11',
  title: 'Completion times by the altruism of jobs',
  section: '§5.4.3, Figure 11',
  about: `With probability P, a job lends the resources that it does not need now; otherwise it uses its whole share. ${MACHINES_AND_JOBS}`,
  workload: ONLINE,
  axis: settingAxis('P(altruism)', 'linear', [0, 0.5, 1], (altruism) => ({ altruism })),
  variants: policies('drf', PAPER),
  panels: [lines('Mean completion time under DRF ÷ that under Carbyne', 'times', [OVER_CARBYNE])],
  claims: claims('§5.4.3', {
    'Completion times fall with altruism': rises([OVER_CARBYNE]),
    '“CARBYNE outperforms them by up to 1.24×” when P is 0.5 (accepted: ±10%)': only(
      at(0.5),
      isAbout(OVER_CARBYNE, 1.24, WITHIN),
    ),
    '“and up to 1.56× at P(Altruism) = 1” (accepted: ±10%)': only(at(1), isAbout(OVER_CARBYNE, 1.56, WITHIN)),
    'Without altruism, completion times equal those under DRF': only(
      at(0),
      staysWithin([OVER_CARBYNE], { least: 0.95, most: 1.05 }),
    ),
  }),
};

export const CARBYNE_FIGURES: readonly Figure[] = [offline, online, distribution, load, errors, altruism];
