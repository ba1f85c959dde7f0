import type { LostWorker, WorkerView } from '@goshawk/client';
import { painter } from '@goshawk/command';
import type { Overview, Point } from '@goshawk/gateway';
import { expect, it } from 'vitest';
import { attentionLines, lostWorkerPage, topPage, workerPage } from './top-page.js';

const OVERVIEW: Overview = {
  schema: 'goshawk.overview/1',
  cluster: 'tcp://127.0.0.1:7070',
  policy: 'goshawk',
  reachable: true,
  workers: { active: 3, draining: 0, drained: 0, quarantined: 0, lost: 1 },
  slots: 4,
  busy: 3,
  cpusBusy: 4,
  free: 0,
  queued: 2,
  schedulers: 1,
  jobs: 2,
  silent: [],
  lastSeen: null,
  failedJobs: 0,
  waiting: [
    {
      class: 'long',
      reason: 'matching',
      tasks: 7,
      example: 'a1-3',
      exampleAgeSeconds: 3,
      why: 'central knows of them',
      helps: 'more workers',
    },
  ],
  attention: [
    {
      ...{ key: 'lost w9', level: 'error', what: '1 worker lost: w\u001b[2J9', hint: 'its log says why' },
      ...{ link: null, since: '2026-01-01T00:00:00.000Z', times: 1, over: null, actions: [] },
    },
  ],
};

const POINT: Point = {
  at: 0,
  seconds: 10,
  waiting: 7,
  busy: 3,
  slots: 4,
  use: null,
  capacity: null,
  short: { tasksPerSecond: 12.345, delaySeconds: { p50: 0.01, p99: 1.5 }, runSeconds: null },
  long: { tasksPerSecond: 0, delaySeconds: null, runSeconds: null },
};

it('shows the cluster, what waits and why, and what needs attention', () => {
  const text = topPage({ overview: OVERVIEW, history: { points: [POINT] } }, painter({ color: false }));
  // One of the tasks uses two CPUs.
  expect(text).toMatch(/tasks +█{30} 4 of 4 CPUs, 3 tasks running, 2 queued/);
  expect(text).toMatch(/workers +3 active, 1 lost/);
  expect(text).toMatch(/waiting +█{30} 7 tasks of long jobs: central knows of them \(matching\)/);
  expect(text).toMatch(/short +12.3 tasks\/s, delay p50 10 ms, p99 1.5 s$/m);
  expect(text).toMatch(/long +0 tasks\/s$/m);
  // User-supplied names must not move the cursor.
  expect(text).toMatch(/attention +1 worker lost: w9; its log says why/);
});

it('marks numbers in which the jobs of a silent scheduler are missing', () => {
  const overview = { ...OVERVIEW, silent: ['scheduler s0'] };
  const text = topPage({ overview, history: { points: [] } }, painter({ color: false }));
  expect(text).toMatch(/jobs +at least 2 active, at 1 scheduler/);
  expect(text).toMatch(/at least 7 tasks of long jobs/);
});

it('omits values that are not known yet', () => {
  const text = topPage(
    { overview: { ...OVERVIEW, waiting: [] }, history: { points: [] } },
    painter({ color: false }),
  );
  expect(text).not.toMatch(/waiting|short|long/);
});

/** The counts of an overview while nothing answers. */
const UNKNOWN = {
  slots: null,
  busy: null,
  free: null,
  queued: null,
  schedulers: null,
  jobs: null,
  waiting: null,
};

it('shows unknown, with the last value and its age, while central does not respond', () => {
  const last = { secondsAgo: 12, slots: 80, busy: 62, queued: 3, schedulers: 1, jobs: 9 };
  const overview = { ...OVERVIEW, ...UNKNOWN, reachable: false, lastSeen: last, failedJobs: null };
  const text = topPage({ overview, history: { points: [] } }, painter({ color: false }));
  expect(text).toMatch(
    /tasks +unknown: central does not answer; 12 s ago 62 tasks running, 80 CPUs in total/,
  );
  expect(text).toMatch(/jobs +unknown: central does not answer; 12 s ago 9 active/);
  expect(text).toMatch(/workers +unknown: central does not answer; 12 s ago 3 active, 1 lost/);
  expect(text).toMatch(/waiting +unknown: no scheduler answers/);
  expect(text).not.toMatch(/\b0 /);
});

it('shows unknown before the first answer', () => {
  const counts = { active: 0, draining: 0, drained: 0, quarantined: 0, lost: 0 };
  const overview = {
    ...OVERVIEW,
    ...UNKNOWN,
    workers: counts,
    reachable: false,
    lastSeen: null,
    failedJobs: null,
  };
  const text = topPage({ overview, history: { points: [] } }, painter({ color: false }));
  expect(text).toMatch(/workers +unknown: central does not answer$/m);
  expect(text).not.toMatch(/\b0 /);
});

it('keeps many alerts short on a live screen, so that the rest stays visible', () => {
  const attention = Array.from({ length: 5 }, (_, n) => ({
    ...OVERVIEW.attention[0]!,
    ...{ key: `${n}`, level: 'warning' as const, what: `problem ${n}`, hint: 'do something' },
  }));
  const shown = { overview: { ...OVERVIEW, attention }, history: { points: [] } };
  const paint = painter({ color: false });
  expect(topPage(shown, paint, true)).not.toContain('do something');
  expect(topPage(shown, paint)).toContain('problem 4; do something');
});

it('says how often a problem occurred, and that it is over', () => {
  const [item] = OVERVIEW.attention;
  const lines = attentionLines(
    {
      attention: [
        { ...item!, times: 3 },
        { ...item!, over: new Date(2026, 0, 1, 2, 40).toISOString() },
      ],
    },
    painter({ color: false }),
  );
  expect(lines).toEqual([
    '1 worker lost: w9 (3 times within an hour); its log says why',
    'over since 02:40: 1 worker lost: w9; its log says why',
  ]);
});

it('shows a worker with units, its running tasks, and attributes that have the names of fields', () => {
  const worker = {
    ...{ name: 'w1', address: 'w1/0', state: 'active', partition: 'general', slots: 4, busy: 2, queued: 0 },
    ...{ long: 1, heardMsAgo: 802.8606, capacity: { cpu: 4, memory: 2 ** 31 } },
    attributes: { state: 'bavaria', runs: 'no' },
  } as unknown as WorkerView;
  const task = { job: 'a-1', name: 'etl', task: 3, from: 7_000, isPaused: false, lenders: ['b2-7/4'] };
  const lender = { ...task, task: 4, isPaused: true, lenders: [] };
  expect(workerPage(worker, [task, lender], 10_000).split('\n')).toEqual([
    'state           active',
    'takes           all tasks',
    'runs            2 tasks on 4 CPUs, 1 long',
    'queued          0',
    'in use          unknown',
    'resources       cpu 4, memory 2 GiB',
    'last heartbeat  803 ms ago',
    'address         w1/0',
    '',
    'running here',
    'etl (a-1) task 3, started 3 s ago, on the CPU of b2-7/4',
    'etl (a-1) task 4, started 3 s ago, paused',
    '1 task not sampled yet',
    '',
    'attributes',
    'state           bavaria',
    'runs            no',
  ]);
});

it('shows when and why a worker was lost', () => {
  const lost = { name: 'w1', address: 'w1/0', cause: 'silent for 5 s', lostMsAgo: 60_000, running: 1 };
  const text = lostWorkerPage(lost as unknown as LostWorker, painter({ color: false, columns: 80 }));
  expect(text).toMatch(
    /^ +state +lost 1 min 0 s ago\n +cause +silent for 5 s\n +tasks +1 task ran on it, and restarts/,
  );
});
