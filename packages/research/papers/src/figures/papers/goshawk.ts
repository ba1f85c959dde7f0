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

/** The page that describes the policy and its benefits; it takes the place of a paper. */
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
/** Size at which 90% of the slots are busy on `google-sub.tr` while jobs arrive. */
const BUSY = 10_725;

const goshawkSize: Figure = {
  id: 'goshawk-size',
  title: 'Goshawk against Hawk, by size of the cluster',
  paper: POLICY_PAGE,
  section: 'Comparison with Hawk',
  about:
    'Run times under goshawk and goshawk-peer, divided by those under hawk; values below 1 are faster than hawk. omniscient ' +
    'is goshawk with known run times and no network delay.',
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
    'Short and long jobs are never slower than under hawk': isBetter([...short, ...long]),
    'In a busy cluster, short jobs take less than half the time': only(
      at(9_652, BUSY),
      isMuchBetter(short, 0.5),
    ),
    'Network delays cost short jobs at most 3% and long jobs at most 5%': staysWithin(
      [...over('goshawk', 'omniscient', 'short'), ...over('goshawk', 'omniscient', 'long')],
      { least: 0.95, most: 1.05 },
    ),
    'Without matching at central (goshawk-peer), short jobs take at most 12% longer than under omniscient':
      only(
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
const COMPLETE = {
  reserve: 'auto',
  estimator: 'oracle',
} as const satisfies RunSettings;

const changed = percentileRatios('changed', 'complete');
const shortChanged = [changed.short50, changed.short90];
const longChanged = [changed.long50, changed.long90];

const goshawkParts: Figure = {
  id: 'goshawk-parts',
  title: 'Contribution of each part of the policy goshawk',
  paper: POLICY_PAGE,
  section: 'Contribution of each part',
  about:
    'Run times with one part omitted or replaced, divided by those of the complete policy; values above 1 show that the part helps. noisy: estimates are 0.1 to 1.9 times the truth; pilots: jobs have no estimates.',
  mode: 'simulated',
  workload: SHORTER,
  settings: { ...POLICY_SETTINGS, policy: 'goshawk', workers: BUSY },
  axis: labelledAxis('', PARTS),
  variants: [
    { name: 'changed', settings: {} },
    { name: 'complete', settings: COMPLETE },
  ],
  panels: [
    bars('Short jobs', 'changed ÷ complete', shortChanged),
    bars('Long jobs', 'changed ÷ complete', longChanged),
  ],
  claims: claims(SECTION, {
    'Without estimates, short jobs take at most 6% longer': only(
      at(PILOTS),
      staysWithin(shortChanged, { least: 0.9, most: 1.06 }),
    ),
  }),
};

export const GOSHAWK_FIGURES: readonly Figure[] = [goshawkSize, goshawkParts];
