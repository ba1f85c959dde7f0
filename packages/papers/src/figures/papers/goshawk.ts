import { labelledAxis, workersAxis } from '../axis.js';
import {
  bars,
  claims,
  type Figure,
  type FigureWorkload,
  lines,
  type Paper,
  policies,
  table,
} from '../figure.js';
import { at, isBetter, isMuchBetter, only, staysWithin } from '../judging/index.js';
import { percentileRatios, ratio, seconds } from '../series.js';
import type { RunSettings } from '../settings.js';

/** Not a paper, but the page that describes the policy and its benefits. */
const POLICY_PAGE: Paper = { name: 'Goshawk', reference: 'docs/DESIGN.md' };

/** A tenth of the jobs of Hawk's figures, because each point runs five policies. */
const SHORTER: FigureWorkload = { generator: 'google-like', jobs: 10_000, isReplaceable: true };

/** The settings of `goshawk simulate`; only Hawk uses the partition. */
const POLICY_SETTINGS = { cutoff: 'p90', shortPartition: '0.17' } as const satisfies RunSettings;

const over = (of: string, base: string, jobs: 'short' | 'long') => [
  ratio(of, base, jobs, 'p50', `${of}, ${jobs} p50`),
  ratio(of, base, jobs, 'p90', `${of}, ${jobs} p90`),
];
const short = over('goshawk', 'hawk', 'short');
const long = over('goshawk', 'hawk', 'long');
const SECTION = 'docs/DESIGN.md, The policy goshawk';
const POLICIES = ['goshawk', 'goshawk-peer', 'hawk', 'sparrow', 'omniscient'] as const;
/** 90% busy on `google-sub.tr` while jobs arrive. */
const BUSY = 10_725;

const goshawkSize: Figure = {
  id: 'goshawk-size',
  title: 'Goshawk against Hawk, by size of the cluster',
  paper: POLICY_PAGE,
  section: 'What it gives',
  about:
    'Run times under goshawk, and under goshawk-peer, over those under hawk. Below 1 they are faster. omniscient is the ' +
    'same policy, which knows all run times, over a network that takes no time.',
  mode: 'simulated',
  workload: SHORTER,
  settings: POLICY_SETTINGS,
  axis: workersAxis([9_652, BUSY, 12_000, 14_960, 19_235]),
  variants: policies(...POLICIES),
  panels: [
    lines('Short jobs', 'run time ÷ Hawk’s', [...short, ...over('goshawk-peer', 'hawk', 'short')]),
    lines('Long jobs', 'run time ÷ Hawk’s', [...long, ...over('goshawk-peer', 'hawk', 'long')]),
    table(
      'Run times',
      POLICIES.flatMap((policy) => [
        seconds(policy, 'short', 'p50'),
        seconds(policy, 'short', 'p90'),
        seconds(policy, 'long', 'p50'),
        seconds(policy, 'long', 'p90'),
      ]),
    ),
  ],
  claims: claims(SECTION, {
    'Short and long jobs are nowhere slower than under hawk': isBetter([...short, ...long]),
    'Where the cluster is busy, short jobs take less than half of the time': only(
      at(9_652, BUSY),
      isMuchBetter(short, 0.5),
    ),
    'The network costs short jobs 3% and long ones 5% at most': staysWithin(
      [...over('goshawk', 'omniscient', 'short'), ...over('goshawk', 'omniscient', 'long')],
      { least: 0.95, most: 1.05 },
    ),
    'Without central in their way (goshawk-peer), short jobs take 12% longer at most than they could': only(
      at(BUSY, 12_000, 14_960, 19_235),
      staysWithin(over('goshawk-peer', 'omniscient', 'short'), { least: 0.9, most: 1.12 }),
    ),
  }),
};

const PARTS = {
  'no reserve': { reserve: 'none' },
  noisy: { estimator: 'noisy:0.1-1.9' },
  pilots: { estimator: 'pilot' },
};
const PILOTS = 2;
/** Defaults of the settings that the points change. */
const AS_IT_IS = {
  reserve: 'auto',
  estimator: 'oracle',
} as const satisfies RunSettings;

const otherwise = percentileRatios('otherwise', 'as it is');
const shortOtherwise = [otherwise.short50, otherwise.short90];
const longOtherwise = [otherwise.long50, otherwise.long90];

const goshawkParts: Figure = {
  id: 'goshawk-parts',
  title: 'Contribution of each part of the policy goshawk',
  paper: POLICY_PAGE,
  section: 'What each part is worth',
  about:
    'Run times with a part left out or done otherwise, over those of the whole; above 1, it is missed. noisy: estimates off by 0.1 to 1.9; pilots: none are given.',
  mode: 'simulated',
  workload: SHORTER,
  settings: { ...POLICY_SETTINGS, policy: 'goshawk', workers: BUSY },
  axis: labelledAxis('', PARTS),
  variants: [
    { name: 'otherwise', settings: {} },
    { name: 'as it is', settings: AS_IT_IS },
  ],
  panels: [
    bars('Short jobs', 'otherwise ÷ as it is', shortOtherwise),
    bars('Long jobs', 'otherwise ÷ as it is', longOtherwise),
  ],
  claims: claims(SECTION, {
    'When nobody knows which job is long, short jobs take 6% longer at most': only(
      at(PILOTS),
      staysWithin(shortOtherwise, { least: 0.9, most: 1.06 }),
    ),
  }),
};

export const GOSHAWK_FIGURES: readonly Figure[] = [goshawkSize, goshawkParts];
