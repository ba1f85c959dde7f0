import { claims } from '../claims.js';
import { at, between, waitAlike, waitsLess, waitsMost } from '../judging/index.js';
import { loadAxis, packingFigure, queue } from './paper.js';

const UNTIL = 1_000_000;
const MODEL = {
  servers: 5,
  places: 'load',
  slots: 100,
  service: 'geometric',
  until: UNTIL,
  from: 200_000,
} as const;
const LOADS = loadAxis([0.7, 0.8, 0.85, 0.9, 0.95, 0.99]);
/** "Clearly", "much": queues that differ by half at least. */
const CLEARLY = 1.5;

export const packing4a = packingFigure('Mean tasks that wait', {
  id: 'packing-4a',
  title: 'Many small sizes: best fit and VQS-BF alike, VQS far behind',
  section: '§VII-A3, Figure 4a',
  about:
    'Five servers; sizes uniform from 0.01 to 0.19; tasks run for 100 slots (geometric). The load is the arriving work over ' +
    'that of all servers. Of 1,000,000 slots the first 200,000 do not count; a queue that grows is as long as they let it.',
  workload: { generator: 'packing', jobs: 2_600_000, isReplaceable: false },
  model: { ...MODEL, j: 7, sizes: { kind: 'uniform', low: 0.01, high: 0.19 } },
  axis: LOADS,
  claims: claims('§VII-A3', {
    'VQS is the worst of the three': waitsMost(
      queue('vqs'),
      [queue('bfjs'), queue('vqs-bf')],
      CLEARLY,
      between(0.7, 0.99),
    ),
    'VQS-BF and BF-J/S are alike up to a load of 0.95': waitAlike(
      queue('vqs-bf'),
      queue('bfjs'),
      CLEARLY,
      between(0.7, 0.95),
    ),
    'Beyond that BF-J/S is better': waitsLess(queue('bfjs'), [queue('vqs-bf')], 1.1, at(0.99)),
  }),
});

export const packing4b = packingFigure('Mean tasks that wait', {
  id: 'packing-4b',
  title: 'Large and small sizes: large tasks wait for a configuration',
  section: '§VII-A3, Figure 4b',
  about: 'The same with sizes uniform from 0.1 to 0.9.',
  workload: { generator: 'packing', jobs: 520_000, isReplaceable: false },
  model: { ...MODEL, j: 4, sizes: { kind: 'uniform', low: 0.1, high: 0.9 } },
  axis: LOADS,
  claims: claims('§VII-A3', {
    'BF-J/S is best of all': waitsLess(queue('bfjs'), [queue('vqs'), queue('vqs-bf')], 1, between(0.8, 0.99)),
    'At high load VQS and VQS-BF are much worse': waitsLess(
      queue('bfjs'),
      [queue('vqs'), queue('vqs-bf')],
      CLEARLY,
      between(0.9, 0.99),
    ),
  }),
});
