import { labelledAxis } from '../axis.js';
import { claims } from '../claims.js';
import type { Figure } from '../figure.js';
import { at, staysWithin } from '../judging/index.js';
import { bars } from '../panels.js';
import { percentileRatios } from '../series.js';
import type { RunSettings } from '../settings.js';
import { POLICY_PAGE, POLICY_SETTINGS, SHORTER } from './policy.js';

const PARTS = {
  'no reserve': { reserve: 'none' },
  noisy: { estimator: 'noisy:0.1-1.9' },
  pilots: { estimator: 'pilot' },
};
const PILOTS = 2;
/** What the places change, as it is by default. */
const AS_IT_IS = {
  reserve: 'auto',
  estimator: 'oracle',
} as const satisfies RunSettings;

const SECTION = 'docs/DESIGN.md, The policy goshawk';

const { short50, short90, long50, long90 } = percentileRatios('otherwise', 'as it is');

export const goshawkParts: Figure = {
  id: 'goshawk-parts',
  title: 'What each part of the policy goshawk is worth',
  paper: POLICY_PAGE,
  section: 'What each part is worth',
  about:
    'Run times with a part left out or done otherwise, over those of the whole; above 1, it is missed. noisy: estimates off by 0.1 to 1.9; pilots: none are given.',
  mode: 'simulated',
  workload: SHORTER,
  settings: { ...POLICY_SETTINGS, policy: 'goshawk', workers: 10_725 },
  axis: labelledAxis('', PARTS),
  variants: [
    { name: 'otherwise', settings: {} },
    { name: 'as it is', settings: AS_IT_IS },
  ],
  panels: [
    bars('Short jobs', 'otherwise ÷ as it is', [short50, short90]),
    bars('Long jobs', 'otherwise ÷ as it is', [long50, long90]),
  ],
  claims: claims(SECTION, {
    'When nobody knows which job is long, short jobs take 6% longer at most': staysWithin(
      [short50, short90],
      { least: 0.9, most: 1.06 },
      at(PILOTS),
    ),
  }),
};
