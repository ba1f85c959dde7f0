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
import { at, isAtMost, isBelow, isMuchBetter, only, rises, staysWithin } from '../judging/index.js';
import type { Staged } from '../point.js';
import { DEFAULT_POLICY, over, seriesOf, withDefault } from '../series.js';

const CARBYNE: Paper = {
  name: 'Carbyne',
  reference:
    'R. Grandl, M. Chowdhury, A. Akella, G. Ananthanarayanan: Altruistic Scheduling in Multi-Resource Clusters, OSDI 2016',
};

/** The compared policies. Each job is compared with the same job under the first policy. */
const FIELD = ['drf', 'carbyne', 'carbyne-pack', 'tetris', 'sjf', 'srtf'] as const;

/**
 * Number of machines at which the mean completion time under DRF is two to four times the mean critical path.
 * At lower load all policies are alike; at much higher load only the order of jobs matters.
 */
const MACHINES = 28;

const MACHINES_AND_JOBS =
  'Staged jobs are scheduled by the policy alone, without messages, on machines with 20 cores and six resources. ' +
  `The paper does not have the policy ${DEFAULT_POLICY}.`;

function series(of: string, unit: Series['unit'], value: (staged: Staged) => number): Series {
  return seriesOf(of, unit, 'staged', of, value);
}

const mean = (of: string) => series(of, 'seconds', ({ meanSeconds }) => meanSeconds);
const makespan = (of: string) => series(of, 'seconds', ({ makespanSeconds }) => makespanSeconds);
const unfairness = (of: string) => series(of, 'index', ({ fairness }) => 1 - fairness);
const fairness = (of: string) => series(of, 'index', (staged) => staged.fairness);
const slower = (of: string) => series(of, 'share', (staged) => staged.slower);
const muchSlower = (of: string) => series(of, 'share', (staged) => staged.muchSlower);

const THREE_WAYS: readonly Panel[] = [
  bars('Fairness (Jain): allocations of jobs ÷ what they could use', 'index', withDefault(FIELD, fairness)),
  bars('Mean completion time', 'seconds', withDefault(FIELD, mean)),
  bars('Makespan', 'seconds', withDefault(FIELD, makespan)),
];

/** Carbyne's mean completion time over that under DRF, and the reverse. */
const OF_DRF = over(mean('carbyne'), mean('drf'));
const OVER_CARBYNE = over(mean('drf'), mean('carbyne'));

const OTHERS = ['carbyne', 'tetris', 'srtf'];
const OVER_OTHERS = lines(
  'Mean completion time under DRF ÷ that under other policies',
  'times',
  withDefault(OTHERS, (of) => over(mean('drf'), mean(of))),
);

const common = {
  paper: CARBYNE,
  mode: 'staged',
  settings: { workers: MACHINES },
  axis: SINGLE_POINT,
  variants: policies(...FIELD, DEFAULT_POLICY),
} as const satisfies Partial<Figure>;

const workload = (options: string): Figure['workload'] => ({
  generator: 'dag-like',
  options,
  jobs: 100,
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
    'DRF is the fairest, followed by Carbyne and Tetris': isBelow(
      unfairness('carbyne'),
      unfairness('tetris'),
    ),
    "Carbyne's mean completion time is 1.06 times the best one's (accepted: 1.15 of SRTF's)": isAtMost(
      over(mean('carbyne'), mean('srtf')),
      1.15,
    ),
    "DRF's mean completion time is 1.5 times Carbyne's (accepted: Carbyne's is a tenth shorter)":
      isMuchBetter([OF_DRF], 0.1),
    "Carbyne's makespan is 1.03 times Tetris' (accepted: 1.1)": isAtMost(
      over(makespan('carbyne'), makespan('tetris')),
      1.1,
    ),
    'SJF has the longest makespan': isBelow(makespan('drf'), makespan('sjf')),
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
    bars('Jobs that take longer than under DRF', 'share of jobs', withDefault(FIELD.slice(1), slower)),
  ],
  claims: [
    ...claims('§5.2.1', {
      "Carbyne's index is 0.06 below DRF's": isAtMost(unfairness('carbyne'), 0.06),
    }),
    ...claims('§5.2.2', {
      'Mean completion times are 1.36 times shorter than under DRF (accepted: 1.15)': isMuchBetter(
        [OF_DRF],
        0.13,
      ),
    }),
    ...claims('§5.2.1', {
      "Carbyne's mean completion time is within 1.2 times the best one's (accepted: 1.3 of SRTF's)": isAtMost(
        over(mean('carbyne'), mean('srtf')),
        1.3,
      ),
      "Carbyne's makespan is 1.07 times Tetris' (accepted: 1.1)": isAtMost(
        over(makespan('carbyne'), makespan('tetris')),
        1.1,
      ),
    }),
    ...claims('§5.2.3', {
      '16% of the jobs are slower than under DRF (accepted: 20%)': isAtMost(slower('carbyne'), 0.2),
      'At most 4% are slower by more than a quarter (accepted: 10%)': isAtMost(muchSlower('carbyne'), 0.1),
    }),
  ],
};

const workersAt = (load: number) => ({ workers: MACHINES / load });

const load: Figure = {
  ...common,
  id: 'carbyne-9',
  title: 'Completion times by load',
  section: '§5.4.1, Figure 9',
  about: `The same jobs run on fewer machines, which multiplies the load. ${MACHINES_AND_JOBS}`,
  workload: ONLINE,
  axis: settingAxis('load', 'even', [0.5, 1, 2, 4], workersAt, (load) => `${load}×`),
  variants: policies('drf', ...OTHERS, DEFAULT_POLICY),
  panels: [OVER_OTHERS],
  claims: claims('§5.4.1', {
    'The gain of Carbyne over DRF grows with load': rises([OVER_CARBYNE]),
    'At twice the load, completion times are 1.76 times shorter (accepted: 1.25)': only(
      at(2),
      isMuchBetter([OF_DRF], 0.2),
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
  axis: settingAxis('errors', 'even', [0, 25, 50], errorOf, (percent) => `±${percent}%`),
  variants: policies('drf', ...OTHERS, DEFAULT_POLICY),
  panels: [OVER_OTHERS],
  claims: claims('§5.4.2', {
    'Carbyne is still better than DRF with errors of 50%': isMuchBetter([OF_DRF], 0.05),
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
  variants: policies('drf', 'carbyne'),
  panels: [lines('Mean completion time under DRF ÷ that under Carbyne', 'times', [OVER_CARBYNE])],
  claims: claims('§5.4.3', {
    'Completion times fall with altruism': rises([OVER_CARBYNE]),
    'Without altruism, completion times equal those under DRF': only(
      at(0),
      staysWithin([OF_DRF], { least: 0.95, most: 1.05 }),
    ),
  }),
};

export const CARBYNE_FIGURES: readonly Figure[] = [offline, online, load, errors, altruism];
