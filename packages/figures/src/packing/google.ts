import { settingAxis } from '../axis.js';
import { claims } from '../claims.js';
import { at, from, waitsLess, waitsMost } from '../judging/index.js';
import { packingFigure, queue } from './paper.js';

const SPEEDS = [1, 1.2, 1.4, 1.6];

export const packing5 = packingFigure('Mean tasks that wait', {
  id: 'packing-5',
  title: 'Tasks of Google’s trace: best fit and VQS-BF against VQS and FIFO-FF',
  section: '§VII-B, Figure 5',
  about:
    'Tasks of the trace of 2011 that ran to their end, with their own requests; a size is the larger of cpu and memory. ' +
    'Arrival times are divided by more and more. The paper has 1,000 servers for 1.5 days of the trace; for its first eight ' +
    'hours 300 are as busy.',
  workload: {
    generator: 'google2011',
    jobs: 133_783,
    paperJobs: 1_000_000,
    isReplaceable: true,
    traceNeeded: {
      what: 'the official Google trace of 2011',
      hint: '--trace FOLDER, with task_events in it',
    },
  },
  model: { servers: 300, j: 7, places: 'speed' },
  axis: settingAxis('arrival times divided by', 'even', SPEEDS, () => ({})),
  claims: claims('§VII-B', {
    'As load grows BF-J/S is clearly better than VQS and FIFO-FF': waitsLess(
      queue('bfjs'),
      [queue('vqs'), queue('fifo-ff')],
      1.1,
      from(1),
    ),
    'So is VQS-BF': waitsLess(queue('vqs-bf'), [queue('vqs'), queue('fifo-ff')], 1.1, from(1)),
    'VQS-BF is slightly but steadily better than BF-J/S': waitsLess(
      queue('vqs-bf'),
      [queue('bfjs')],
      1,
      from(1),
    ),
    'FIFO-FF has the longest queue': waitsMost(
      queue('fifo-ff'),
      [queue('vqs'), queue('bfjs')],
      1,
      at(...SPEEDS),
    ),
  }),
});
