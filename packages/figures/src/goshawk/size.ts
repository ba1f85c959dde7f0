import { workersAxis } from '../axis.js';
import { claims } from '../claims.js';
import type { Figure } from '../figure.js';
import { at, isBetter, isMuchBetter, staysWithin } from '../judging/index.js';
import { lines, table } from '../panels.js';
import { ratio, seconds } from '../series.js';
import { policies } from '../variants.js';
import { POLICY_PAGE, POLICY_SETTINGS, SHORTER } from './policy.js';

const over = (of: string, base: string, jobs: 'short' | 'long') => [
  ratio(of, base, jobs, 'p50', `${of}, ${jobs} p50`),
  ratio(of, base, jobs, 'p90', `${of}, ${jobs} p90`),
];
const short = over('goshawk', 'hawk', 'short');
const long = over('goshawk', 'hawk', 'long');
const SECTION = 'docs/DESIGN.md, The policy goshawk';
const POLICIES = ['goshawk', 'goshawk-peer', 'hawk', 'sparrow', 'omniscient'] as const;
/** On `google-sub.tr`, 90% busy while jobs come. */
const BUSY = 10_725;

export const goshawkSize: Figure = {
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
    'Where the cluster is busy, short jobs take less than half of the time': isMuchBetter(
      short,
      0.5,
      at(9_652, BUSY),
    ),
    'The network costs short jobs 3% and long ones 5% at most': staysWithin(
      [...over('goshawk', 'omniscient', 'short'), ...over('goshawk', 'omniscient', 'long')],
      { least: 0.95, most: 1.05 },
    ),
    'Without central in their way (goshawk-peer), short jobs take 12% longer at most than they could':
      staysWithin(
        over('goshawk-peer', 'omniscient', 'short'),
        { least: 0.9, most: 1.12 },
        at(BUSY, 12_000, 14_960, 19_235),
      ),
  }),
};
