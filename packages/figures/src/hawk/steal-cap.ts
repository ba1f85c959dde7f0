import { settingAxis } from '../axis.js';
import { claims } from '../claims.js';
import type { Figure } from '../figure.js';
import { at, falls, from, isMuchBetter, isSlightlyBetter } from '../judging/index.js';
import { lines } from '../panels.js';
import { ratioToPlace } from '../series.js';
import { GOOGLE, GOOGLE_SETTINGS, GOOGLE_WORKERS, HAWK, POLICIES } from './paper.js';

const short = [ratioToPlace('hawk', 1, 'short', 'p50'), ratioToPlace('hawk', 1, 'short', 'p90')];
const long = [ratioToPlace('hawk', 1, 'long', 'p50'), ratioToPlace('hawk', 1, 'long', 'p90')];

export const hawk15: Figure = {
  id: 'hawk-15',
  title: 'How many workers an idle worker asks',
  paper: HAWK,
  section: '§4.9, Figure 15',
  about: 'Run times under Hawk over those with a cap of 1.',
  mode: 'simulated',
  workload: GOOGLE,
  settings: { ...GOOGLE_SETTINGS, workers: GOOGLE_WORKERS },
  axis: settingAxis('workers asked at most', 'log', [1, 2, 5, 10, 25, 50, 100, 250], (stealCap) => ({
    stealCap,
  })),
  variants: [POLICIES.hawk],
  panels: [lines('Short jobs', '÷ a cap of 1', short), lines('Long jobs', '÷ a cap of 1', long)],
  claims: claims('§4.9', {
    'Performance increases with the cap': falls(short),
    'Even a low value (10) gives significant benefit': isMuchBetter(short, 0.1, at(10)),
    'At high caps there is also a slight increase in the performance of long jobs': isSlightlyBetter(
      long,
      from(100),
    ),
  }),
};
