import { labelledAxis } from '../axis.js';
import { claims } from '../claims.js';
import type { Figure } from '../figure.js';
import { at, isHighestAt, isSlightlyBetter, isWorse, staysWithin } from '../judging/index.js';
import { bars } from '../panels.js';
import { percentileRatios } from '../series.js';
import { GOOGLE, GOOGLE_SETTINGS, GOOGLE_WORKERS, HAWK } from './paper.js';

const ABLATIONS = {
  'no central': { central: false },
  'no partition': { partition: false },
  'no stealing': { stealing: false },
};
const [NO_CENTRAL, NO_PARTITION, NO_STEALING] = [0, 1, 2] as const;

const { short50, short90, long50, long90 } = percentileRatios('without', 'hawk');

export const hawk7: Figure = {
  id: 'hawk-7',
  title: 'What each part of Hawk contributes',
  paper: HAWK,
  section: '§4.4, Figure 7',
  about: 'Run times without a part of Hawk over those of the whole. Above 1, the part is missed.',
  mode: 'simulated',
  workload: GOOGLE,
  settings: { ...GOOGLE_SETTINGS, workers: GOOGLE_WORKERS, policy: 'hawk' },
  axis: labelledAxis('', ABLATIONS),
  variants: [
    { name: 'without', settings: {} },
    { name: 'hawk', settings: { central: true, partition: true, stealing: true } },
  ],
  panels: [
    bars('Short jobs', 'without it ÷ Hawk', [short50, short90]),
    bars('Long jobs', 'without it ÷ Hawk', [long50, long90]),
  ],
  claims: [
    ...claims('§4.4', {
      'Without centralized scheduling the performance of long jobs takes a significant hit': isWorse(
        [long50, long90],
        0.1,
        at(NO_CENTRAL),
      ),
      'Without it short jobs improve': staysWithin([short50, short90], { least: 0, most: 1 }, at(NO_CENTRAL)),
      'Without partitioning short jobs are impacted': isWorse([short50, short90], 0.1, at(NO_PARTITION)),
      'Without partitioning long jobs perform slightly better': isSlightlyBetter(
        [long50, long90],
        at(NO_PARTITION),
      ),
      'Without stealing short jobs are greatly penalized': isWorse([short50, short90], 0.5, at(NO_STEALING)),
      'Without stealing long jobs suffer too': isWorse([long50, long90], 0, at(NO_STEALING)),
    }),
    ...claims('§1', {
      'Stealing contributes the most to short jobs, especially at the 90th percentile': isHighestAt(
        short90,
        at(NO_STEALING),
      ),
    }),
  ],
};
