import { type Address, DEFAULT_POLICY, type Message, NOBODY, PRESETS } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { Usage } from './usage.js';

const [CENTRAL, ANOTHER] = [1, 2] as [Address, Address];
const POLICY = { ...DEFAULT_POLICY, cutoffMs: 10_000 };

/** Messages sent, and the last timer. */
function bench(jobLengths?: unknown) {
  const sent: [Address, Message][] = [];
  const timers: number[] = [];
  const env = {
    random: () => 0.5,
    send: (to: Address, message: Message) => sent.push([to, message]),
    setTimer: (_: string, __: number, at: number) => timers.push(at),
    clearTimer() {},
    nameOf: () => '',
    jobEnded() {},
    drained() {},
  };
  const usage = new Usage(env, jobLengths);
  return { usage, sent, timers };
}

const arrived = (arrivedMs: unknown) => ({
  type: 'usage',
  shortMs: 0,
  longMs: 0,
  arrivedMs,
  arrivedTasks: 0,
  completed: [],
});

describe('short work that arrived', () => {
  test('is reported at intervals if central does not learn of it otherwise', () => {
    const { usage, sent, timers } = bench();
    usage.centralChanged(CENTRAL, POLICY, 0);
    usage.shortArrived(300, 1, false, 1_000);
    usage.shortArrived(200, 1, false, 2_000);
    usage.shortArrived(5_000, 1, true, 2_000);
    expect(timers).toEqual([11_000]);
    usage.report(CENTRAL, 11_000);
    expect(sent).toEqual([[CENTRAL, arrived(500)]]);
    expect(timers).toEqual([11_000]);
  });

  test('is reported once there is a central, and to another one with all recent work', () => {
    const { usage, sent } = bench();
    usage.centralChanged(CENTRAL, POLICY, 0);
    usage.shortArrived(1_000, 1, true, 0);
    usage.shortArrived(500, 1, false, 40_000);
    usage.report(NOBODY, 50_000);
    expect(sent).toEqual([]);
    usage.centralChanged(ANOTHER, POLICY, 80_000);
    expect(sent).toEqual([[ANOTHER, arrived(expect.closeTo(1_000 / Math.E ** 2 + 500 / Math.E))]]);
    usage.report(ANOTHER, 90_000);
    expect(sent).toHaveLength(1);
  });

  test('is reported once to a central that welcomes this scheduler again', () => {
    const { usage, sent } = bench();
    usage.centralChanged(CENTRAL, POLICY, 0);
    usage.shortArrived(1_000, 1, true, 0);
    usage.shortArrived(500, 1, false, 0);
    usage.centralChanged(CENTRAL, POLICY, 5_000);
    usage.centralChanged(CENTRAL, POLICY, 6_000);
    expect(sent).toEqual([[CENTRAL, arrived(500)]]);
  });

  test('is reported within a second if central needs it to resume matching', () => {
    const { usage, timers } = bench();
    usage.centralChanged(CENTRAL, { ...POLICY, cutoffJobs: 0, preset: { ...PRESETS.goshawk } }, 0);
    usage.jobCompleted(Float64Array.of(9), 0);
    usage.shortArrived(300, 1, false, 100);
    usage.shortArrived(300, 1, false, 200);
    expect(timers).toEqual([10_000, 1_100]);
  });

  test('is not reported if the reserve is fixed', () => {
    const { usage, sent, timers } = bench();
    usage.centralChanged(CENTRAL, { ...POLICY, reserve: 0.1 }, 0);
    usage.shortArrived(1_000, 1, false, 0);
    usage.centralChanged(ANOTHER, { ...POLICY, reserve: 0.1 }, 5_000);
    expect([sent, timers]).toEqual([[], []]);
  });
});

test('run times are reported while the partition depends on them', () => {
  const { usage, sent, timers } = bench();
  usage.centralChanged(CENTRAL, { ...POLICY, shortPartition: 'auto' }, 0);
  usage.taskCompleted(false, 3);
  usage.taskCompleted(true, 40);
  usage.report(CENTRAL, 10_000);
  usage.report(CENTRAL, 20_000);
  expect(sent).toEqual([[CENTRAL, { ...arrived(0), shortMs: 3, longMs: 40 }]]);
  expect(timers).toEqual([10_000, 20_000, 30_000]);
});

test('completed jobs are reported if the cutoff is learned, and all of them to another central', () => {
  const { usage, sent } = bench();
  const LEARNED = { ...POLICY, cutoffJobs: 0 };
  usage.centralChanged(CENTRAL, POLICY, 0);
  usage.jobCompleted(Float64Array.of(9), 0);
  usage.centralChanged(CENTRAL, LEARNED, 0);
  usage.jobCompleted(Float64Array.of(1_000, 1_048), 0);
  usage.report(CENTRAL, 10_000);
  usage.jobCompleted(Float64Array.of(1), 10_000);
  usage.centralChanged(ANOTHER, LEARNED, 12_000);
  usage.report(ANOTHER, 22_000);
  const [short, long] = [
    { length: 0, jobs: 1, workMs: 1 },
    { length: 40, jobs: 1, workMs: 2_048 },
  ];
  expect(sent).toEqual([
    [CENTRAL, { ...arrived(0), completed: [long] }],
    [ANOTHER, { ...arrived(0), completed: [short, long] }],
  ]);
});

describe('jobs of an earlier incarnation', () => {
  const LEARNS = { ...POLICY, cutoffJobs: 0 };
  const jobs = [{ length: 40, jobs: 120, workMs: 122_880 }];

  test('are reported to a central without a learned cutoff, and kept with later ones', () => {
    const { usage, sent } = bench(jobs);
    usage.centralChanged(CENTRAL, LEARNS, 0);
    expect(sent).toEqual([[CENTRAL, { ...arrived(0), completed: jobs }]]);
    usage.jobCompleted(Float64Array.of(1_024), 0);
    expect(usage.jobLengths).toEqual([{ length: 40, jobs: 121, workMs: 123_904 }]);
  });

  test.each([
    ['has learned one', 120],
    ['was sent one', null],
  ])('are not reported to a central that %s', (_, cutoffJobs) => {
    const { usage, sent } = bench(jobs);
    usage.centralChanged(CENTRAL, { ...POLICY, cutoffJobs }, 0);
    expect(sent).toEqual([]);
    // The old central is gone, with its knowledge.
    usage.centralChanged(ANOTHER, LEARNS, 0);
    expect(sent).toEqual([[ANOTHER, { ...arrived(0), completed: jobs }]]);
  });

  test.each([undefined, null, 'jobs', [null], [{ length: 0.5, jobs: 1, workMs: 1 }], [{ length: 1 }]])(
    'are none where %j was saved',
    (saved) => expect(bench(saved).usage.jobLengths).toEqual([]),
  );
});
