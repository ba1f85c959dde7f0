import type { Overview, Point } from '@goshawk/gateway';
import { expect, it } from 'vitest';
import { painter } from '../terminal/paint.js';
import { topPage } from './top-page.js';

const OVERVIEW: Overview = {
  schema: 'goshawk.overview/1',
  cluster: 'tcp://127.0.0.1:7070',
  policy: 'goshawk',
  reachable: true,
  workers: { active: 3, draining: 0, drained: 0, quarantined: 0, lost: 1 },
  slots: 4,
  busy: 3,
  queued: 2,
  schedulers: 1,
  jobs: 2,
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
  attention: [{ level: 'error', what: '1 worker lost: w\u001b[2J9', hint: 'its log says why', link: null }],
};

const POINT: Point = {
  at: 0,
  waiting: 7,
  busy: 3,
  slots: 4,
  short: { tasksPerSecond: 12.345, delaySeconds: { p50: 0.01, p99: 1.5 }, runSeconds: null },
  long: { tasksPerSecond: 0, delaySeconds: null, runSeconds: null },
};

it('says what there is, what waits and why, and what needs a person', () => {
  const text = topPage({ overview: OVERVIEW, history: { points: [POINT] } }, painter({ color: false }));
  expect(text).toMatch(/slots +█{23}░{7} 3 of 4 busy, 2 queued/);
  expect(text).toMatch(/workers +3 active, 1 lost/);
  expect(text).toMatch(/waiting +█{30} 7 of long jobs: central knows of them \(matching\)/);
  expect(text).toMatch(/short +12.3 tasks a second, delay p50 10 ms, p99 1.5 s$/m);
  expect(text).toMatch(/long +0 tasks a second$/m);
  // What others have named moves no cursor.
  expect(text).toMatch(/needs you +1 worker lost: w9; its log says why/);
});

it('leaves out what nobody has told yet', () => {
  const text = topPage(
    { overview: { ...OVERVIEW, waiting: [] }, history: { points: [] } },
    painter({ color: false }),
  );
  expect(text).not.toMatch(/waiting|short|long/);
});
