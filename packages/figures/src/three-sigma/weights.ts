import { labelledAxis } from '../axis.js';
import { claims } from '../claims.js';
import type { Figure } from '../figure.js';
import { policies } from '../variants.js';
import { GANGS, isEveryTimes, misses, panels, SIGMA, TWO_HOURS } from './common.js';

const SHOWN = [SIGMA, 'prio'] as const;
/** What the paper does not say, one thing changed at a time, by label; the first is what we take. */
const CHANGES = {
  ours: { set: [] },
  'vSLO 3': { set: ['vSlo=3'] },
  'vSLO 30': { set: ['vSlo=30'] },
  'θ 0': { set: ['oeThreshold=0'] },
  'θ 0.2': { set: ['oeThreshold=0.2'] },
  'γ 0.5': { set: ['tail=0.5'] },
};

export const weights: Figure = {
  ...TWO_HOURS,
  id: '3sigma-weights',
  title: 'What the paper does not say: weights, θ and γ',
  section: '§4.2, §4.3.2',
  about: `What meeting a deadline is worth beside a best-effort job (ours: 10), below which chance of meeting it a job is worth something after it (θ, ours: 0.05), and how much of its worth is left then (γ, ours: 1). ${GANGS}`,
  axis: labelledAxis('setting', CHANGES),
  variants: policies(...SHOWN),
  panels: panels(SHOWN, 'setting'),
  claims: claims('§6.1', {
    'Prio misses twice as many deadlines as 3Sigma, under every setting': isEveryTimes(
      misses('prio'),
      misses(SIGMA),
      2,
    ),
  }),
};
