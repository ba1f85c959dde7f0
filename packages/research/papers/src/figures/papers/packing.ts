import { settingAxis, timeAxis } from '../axis.js';
import { claims, type Figure, lines, type Paper, policies, type Series, type Variant } from '../figure.js';
import {
  at,
  between,
  from,
  growsBy,
  isSlightlyBetter,
  only,
  waitAlike,
  waitsAtMost,
  waitsLess,
  waitsMost,
} from '../judging/index.js';
import { over, seriesOf } from '../series.js';

const PACKING: Paper = {
  name: 'Packing',
  reference:
    'K. Psychas and J. Ghaderi, Scheduling Jobs with Random Resource Requirements in Computing Clusters, INFOCOM 2019',
};

const POLICIES: readonly Variant[] = policies('fifo-ff', 'bfjs', 'vqs', 'vqs-bf');

function queue(policy: string): Series {
  return seriesOf(policy, 'tasks', 'queues', policy, ({ tasks }) => tasks);
}

function peak(policy: string): Series {
  return seriesOf(policy, 'tasks', 'queues', policy, ({ peak: tasks }) => tasks);
}

const QUEUES = POLICIES.map(({ name }) => queue(name));

/** Queues of the four policies in the paper's model. @param drawn the panel's content */
function packingFigure(
  drawn: string,
  of: Omit<Figure, 'paper' | 'mode' | 'settings' | 'variants' | 'panels'>,
): Figure {
  return {
    ...of,
    paper: PACKING,
    mode: 'modelled',
    settings: {},
    variants: POLICIES,
    panels: [lines(drawn, 'waiting tasks', QUEUES)],
  };
}

const UNTIL = 20_000_000;
/** Growth per slot at the paper's rates, and the tolerance for ours. */
const GROWTH = { slope: 0.0006, within: 0.0001 } as const;
/** Maximum number of waiting tasks of a stable queue. */
const STABLE = 50;

const packing3a = packingFigure('Waiting tasks over time', {
  id: 'packing-3a',
  title: 'Two complementary sizes: VQS wastes the room that it reserves',
  section: '§VII-A1, Figure 3a',
  about:
    'One server; tasks of 0.4 and 0.6 of its size, equally likely; 0.014 tasks arrive per slot (Poisson) and run for 100 ' +
    'slots (geometric). The server can serve any rate below 0.02; VQS serves 2/3 of that.',
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
    'BF-J/S is stable': waitsAtMost(peak('bfjs'), STABLE),
    'VQS-BF is stable': waitsAtMost(peak('vqs-bf'), STABLE),
  }),
});

const packing3b = packingFigure('Waiting tasks over time', {
  id: 'packing-3b',
  title: 'Fixed run times: best fit is stuck in one packing',
  section: '§VII-A2, Figure 3b',
  about:
    'One server of 10; tasks of 2 and 5 in the ratio two to one; 0.0306 tasks arrive per slot (Poisson) and run for 100 ' +
    'slots each. Best fit eventually gets stuck with two tasks of 2 and one of 5, which serves 0.03 tasks per slot.',
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
    'VQS is stable': waitsAtMost(peak('vqs'), STABLE),
    'BF-J/S is not stable: its queue grows': growsBy(queue('bfjs'), GROWTH.slope, GROWTH.within),
    'VQS-BF is not stable: its queue grows': growsBy(queue('vqs-bf'), GROWTH.slope, 2 * GROWTH.within),
  }),
});

const FIVE_SERVERS = {
  servers: 5,
  places: 'load',
  slots: 100,
  service: 'geometric',
  until: 1_000_000,
  from: 200_000,
} as const;
const LOADS = settingAxis('load', 'linear', [0.7, 0.8, 0.85, 0.9, 0.95, 0.99], () => ({}));
/** "Clear advantage", "much": queues differ by at least half. */
const CLEARLY = 1.5;

const packing4a = packingFigure('Mean number of waiting tasks', {
  id: 'packing-4a',
  title: 'Many small sizes: best fit and VQS-BF perform alike, and VQS much worse',
  section: '§VII-A3, Figure 4a',
  about:
    'Five servers; sizes uniform from 0.01 to 0.19; tasks run for 100 slots (geometric). The load is the arriving work ' +
    'divided by the capacity of all servers. Of 1,000,000 slots the first 200,000 are ignored; the length of an unstable queue depends on these numbers.',
  workload: { generator: 'packing', jobs: 2_600_000, isReplaceable: false },
  model: { ...FIVE_SERVERS, j: 7, sizes: { kind: 'uniform', low: 0.01, high: 0.19 } },
  axis: LOADS,
  claims: claims('§VII-A3', {
    'VQS is the worst of the three': only(
      between(0.7, 0.99),
      waitsMost(queue('vqs'), [queue('bfjs'), queue('vqs-bf')], CLEARLY),
    ),
    'VQS-BF and BF-J/S are alike up to a load of 0.95': only(
      between(0.7, 0.95),
      waitAlike(queue('vqs-bf'), queue('bfjs'), CLEARLY),
    ),
    'Beyond a load of 0.95, BF-J/S is better than VQS-BF': only(
      at(0.99),
      waitsLess(queue('bfjs'), [queue('vqs-bf')], CLEARLY),
    ),
  }),
});

const packing4b = packingFigure('Mean number of waiting tasks', {
  id: 'packing-4b',
  title: 'Large and small sizes: large tasks wait for a configuration',
  section: '§VII-A3, Figure 4b',
  about: 'As in Figure 4a, with sizes uniform from 0.1 to 0.9.',
  workload: { generator: 'packing', jobs: 520_000, isReplaceable: false },
  model: { ...FIVE_SERVERS, j: 4, sizes: { kind: 'uniform', low: 0.1, high: 0.9 } },
  axis: LOADS,
  claims: claims('§VII-A3', {
    'BF-J/S is the best policy': only(
      between(0.8, 0.99),
      waitsLess(queue('bfjs'), [queue('vqs'), queue('vqs-bf')], 1),
    ),
    'At high load VQS and VQS-BF are much worse': only(
      between(0.9, 0.99),
      waitsLess(queue('bfjs'), [queue('vqs'), queue('vqs-bf')], CLEARLY),
    ),
  }),
});

const SPEEDS = [1, 1.2, 1.4, 1.6];

const packing5 = packingFigure('Mean number of waiting tasks', {
  id: 'packing-5',
  title: 'Tasks of the Google trace: best fit and VQS-BF compared with VQS and FIFO-FF',
  section: '§VII-B, Figure 5',
  about:
    'Completed tasks of the trace of 2011 with their requests; the size of a task is the larger of its CPU and memory ' +
    'requests. Arrival times are divided by the given factor. The paper uses 1,000 servers for 1.5 days of the trace; 300 ' +
    'servers are equally busy during its first eight hours.',
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
  axis: settingAxis('arrival times divided by', 'linear', SPEEDS, () => ({})),
  claims: [
    ...claims('§VII-B', {
      'As load grows BF-J/S is clearly better than VQS and FIFO-FF': only(
        from(1),
        waitsLess(queue('bfjs'), [queue('vqs'), queue('fifo-ff')], CLEARLY),
      ),
      'As load grows VQS-BF is clearly better than VQS and FIFO-FF': only(
        from(1),
        waitsLess(queue('vqs-bf'), [queue('vqs'), queue('fifo-ff')], CLEARLY),
      ),
      'VQS-BF is slightly but steadily better than BF-J/S': only(
        from(1),
        isSlightlyBetter([over(queue('vqs-bf'), queue('bfjs'))]),
      ),
    }),
    ...claims('ours', {
      'FIFO-FF has the longest queue': only(
        at(...SPEEDS),
        waitsMost(queue('fifo-ff'), [queue('vqs'), queue('bfjs')], 1),
      ),
    }),
  ],
});

export const PACKING_FIGURES: readonly Figure[] = [packing3a, packing3b, packing4a, packing4b, packing5];
