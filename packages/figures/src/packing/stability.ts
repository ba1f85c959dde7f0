import { timeAxis } from '../axis.js';
import { claims } from '../claims.js';
import { growsBy, waitsAtMost } from '../judging/index.js';
import { packingFigure, queue } from './paper.js';

const UNTIL = 20_000_000;
/** Growth a slot that the paper's rates make, and how near ours is to be. */
const GROWTH = { slope: 0.0006, within: 0.0001 } as const;
/** Tasks that wait where nothing grows. */
const STABLE = 50;

export const packing3a = packingFigure('Tasks that wait, over time', {
  id: 'packing-3a',
  title: 'Two sizes that pair up: what VQS keeps free is lost',
  section: '§VII-A1, Figure 3a',
  about:
    'One server; tasks of 0.4 and 0.6 of it, equally likely; 0.014 arrive a slot (Poisson), and run for 100 slots ' +
    '(geometric). Any rate below 0.02 can be served, VQS serves 2/3 of that.',
  workload: { generator: 'packing', jobs: 280_000, isReplaceable: false },
  model: {
    servers: 1,
    j: 2,
    places: 'slots',
    sizes: { kind: 'values', values: [0.4, 0.6], weights: [1, 1] },
    rate: 0.014,
    slots: 100,
    service: 'geometric',
    until: UNTIL,
  },
  axis: timeAxis(UNTIL),
  claims: claims('§VII-A1', {
    'VQS is not stable: its queue grows': growsBy(queue('vqs'), GROWTH.slope, GROWTH.within),
    'BF-J/S is stable': waitsAtMost(queue('bfjs'), STABLE),
    'VQS-BF is stable': waitsAtMost(queue('vqs-bf'), STABLE),
  }),
});

export const packing3b = packingFigure('Tasks that wait, over time', {
  id: 'packing-3b',
  title: 'Fixed run times: best fit is stuck in one packing',
  section: '§VII-A2, Figure 3b',
  about:
    'One server of 10; tasks of 2 and 5, two to one; 0.0306 arrive a slot (Poisson), and run for 100 slots each. Best fit ' +
    'is stuck with two of 2 and one of 5 sooner or later, which serves 0.03 a slot.',
  workload: { generator: 'packing', jobs: 612_000, isReplaceable: false },
  model: {
    servers: 1,
    j: 3,
    places: 'slots',
    sizes: { kind: 'values', values: [0.2, 0.5], weights: [2, 1] },
    rate: 0.0306,
    slots: 100,
    service: 'fixed',
    until: UNTIL,
  },
  axis: timeAxis(UNTIL),
  claims: claims('§VII-A2', {
    'VQS is stable': waitsAtMost(queue('vqs'), STABLE),
    'BF-J/S is not: its queue grows': growsBy(queue('bfjs'), GROWTH.slope, GROWTH.within),
    'VQS-BF is not: its queue grows': growsBy(queue('vqs-bf'), GROWTH.slope, 2 * GROWTH.within),
  }),
});
