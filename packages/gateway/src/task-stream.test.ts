import type { Cluster, ClusterView } from '@goshawk/client';
import { HISTORY_KEPT_MS, type JobDetail, UNKNOWN_RATES } from '@goshawk/core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Day } from './history.js';
import { streamJson } from './stream-json.js';
import { BARS_MAX, BARS_SHOWN_MAX, BUCKET_MS, STREAM_MS, TaskStream } from './task-stream.js';
import { WorkerTable } from './worker-table.js';

const START = 1_764_000_000_000;
const day = new Day();

/** An event log of one job: each task ran once, at one worker, for a while. */
interface Ran {
  readonly task: number;
  readonly worker: string;
  readonly from: number;
  readonly to: number;
}

/** The scheduler's answer at a given time, with up to `max` entries per list. */
function detailOf(log: readonly Ran[], now: number, max: number): JobDetail {
  const began = log.filter(({ from }) => from <= now);
  const running = began.filter(({ to }) => to > now);
  const ended = began.filter(({ to }) => to <= now);
  return {
    id: 'a-1',
    name: 'job',
    submittedAt: START,
    state: running.length > 0 || began.length < log.length ? 'running' : 'completed',
    stages: [{ tasks: log.length, demand: { cpu: 1 } }],
    tasks: { running: running.length },
    attemptList: ended.slice(0, max).map(({ task, worker, from, to }) => ({
      ...{ task, attempt: 1, state: 'completed', worker, startedMs: from - START, runMs: to - from },
    })),
    running: running
      .slice(0, max)
      .map(({ task, worker, from }) => ({ task, attempt: 1, worker, elapsedMs: now - from })),
  } as unknown as JobDetail;
}

it('an attempt that was paused lasts for its run time and its pauses', () => {
  const stream = new TaskStream();
  const lentTo = { job: 'b-2', task: 0 };
  const job = {
    id: 'a-1',
    submittedAt: START,
    stages: [{ tasks: 2, demand: {} }],
    tasks: { running: 1 },
    attemptList: [
      { task: 0, attempt: 1, state: 'completed', worker: 'w0', startedMs: 100, runMs: 2_000, pausedMs: 500 },
    ],
    running: [{ task: 1, attempt: 1, worker: 'w0', elapsedMs: 1_000, pausedMs: 3_000, lentTo }],
  } as unknown as JobDetail;
  const now = START + 5_000;
  stream.take(job, now, now);
  const { bars } = stream.barsOf(new Set(['w0']), START, now);
  expect(bars.map((bar) => [bar.from - START, bar.to - START, bar.pausedMs, bar.isPaused])).toEqual([
    [100, 2_600, 500, false],
    [1_000, 5_000, 3_000, true],
  ]);
});

function viewOf(workers: readonly { name: string; slots: number; busy: number; long?: number }[]) {
  const all = workers.map((worker) => ({ ...worker, state: 'active', partition: 'general', queued: 0 }));
  return { workers: all, lostWorkers: [] } as unknown as ClusterView;
}

const logs = fc.array(
  fc.record({
    worker: fc.constantFrom('w0', 'w1', 'w2'),
    begin: fc.nat(60_000),
    ms: fc.integer({ min: 1, max: 30_000 }),
  }),
  { minLength: 1, maxLength: 60 },
);

it('shows only attempts of the event log: where each ran, from when, and never beyond its end', () => {
  fc.assert(
    fc.property(
      logs,
      fc.array(fc.nat(100_000), { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 1, max: 60 }),
      (drawn, looks, max) => {
        const log = drawn.map(
          ({ worker, begin, ms }, task): Ran => ({
            task,
            worker,
            from: START + begin,
            to: START + begin + ms,
          }),
        );
        const stream = new TaskStream();
        const times = looks.map((at) => START + at).sort((one, other) => one - other);
        for (const at of times) stream.take(detailOf(log, at, max), at, at);
        const { bars, total } = stream.barsOf(new Set(['w0', 'w1', 'w2']), START, START + 200_000);
        expect(total).toBe(bars.length);
        for (const bar of bars) {
          const { worker, from, to } = log[bar.task]!;
          expect({ worker: bar.worker, from: bar.from }).toEqual({ worker, from });
          expect(bar.to).toBeLessThanOrEqual(to);
          if (bar.state === 'completed') expect(bar.to).toBe(to);
          expect(bar.demand).toEqual({ cpu: 1 });
        }
        const last = times.at(-1)!;
        const runs = log.filter(({ from, to }) => from <= last && to > last);
        for (const worker of ['w0', 'w1', 'w2'])
          expect(stream.runningAt(worker, last).length).toBeLessThanOrEqual(
            max >= runs.length ? runs.filter((run) => run.worker === worker).length : log.length,
          );
      },
    ),
  );
});

it('knows the load of every bucket with a sample; all others are unknown', () => {
  const busy = fc.nat(4);
  fc.assert(
    fc.property(
      fc.array(fc.record({ after: fc.integer({ min: 1, max: 40 }), busy }), { minLength: 1, maxLength: 30 }),
      (looks) => {
        const stream = new TaskStream();
        const truth = new Map<number, number>();
        let now = START;
        for (const look of looks) {
          now += look.after * 1_000;
          stream.record(viewOf([{ name: 'w0', slots: 4, busy: look.busy }]), undefined, now);
          const bucket = Math.floor(now / BUCKET_MS);
          truth.set(bucket, Math.max(truth.get(bucket) ?? 0, look.busy));
        }
        const first = Math.floor(START / BUCKET_MS);
        const expected = Array.from(
          { length: Math.floor(now / BUCKET_MS) - first + 1 },
          (_, index) => truth.get(first + index) ?? null,
        );
        expect(stream.loadOf('w0', START, now)).toEqual(expected);
        expect(stream.loadOf('w9', START, now).every((tasks) => tasks === null)).toBe(true);
      },
    ),
  );
});

it('forgets attempts older than an hour, and workers lost for that long', () => {
  const stream = new TaskStream();
  stream.record(viewOf([{ name: 'old', slots: 1, busy: 1 }]), undefined, START);
  const later = START + STREAM_MS + BUCKET_MS;
  for (let at = START; at <= later; at += BUCKET_MS)
    stream.record(viewOf([{ name: 'w0', slots: 1, busy: 1 }]), undefined, at);
  expect([...stream.workers]).toEqual(['w0']);
  expect(stream.loadOf('w0', START, START)).toEqual([null]);
  expect(stream.loadOf('w0', later, later)).toEqual([1]);
});

it('counts as reserved the free slots beyond those that long tasks may still take', () => {
  const stream = new TaskStream();
  const central = { slots: 10, freeSlots: 4, longLimit: 8 } as never;
  stream.record(viewOf([{ name: 'w0', slots: 10, busy: 6, long: 5 }]), central, START);
  expect(stream.reserved(START, START)).toEqual([1]);
  stream.record(viewOf([{ name: 'w0', slots: 10, busy: 6, long: 8 }]), central, START + BUCKET_MS);
  expect(stream.reserved(START, START + BUCKET_MS)).toEqual([1, 4]);
});

it('keeps a bounded number of attempts, and shows the longest if there are too many for one answer', () => {
  const stream = new TaskStream();
  for (let round = 0; round < 3; round++) {
    const log = Array.from({ length: BARS_MAX / 2 }, (_, index): Ran => {
      const task = round * BARS_MAX + index;
      return { task, worker: 'w0', from: START + index, to: START + index + 1 + (index % 100) };
    });
    stream.take(detailOf(log, START + 1_000_000, BARS_MAX), START, START + 1_000_000);
  }
  expect(stream.size).toBe(BARS_MAX);
  const { bars, total } = stream.barsOf(new Set(['w0']), START, START + 1_000_000);
  expect([bars.length, total]).toEqual([BARS_SHOWN_MAX, BARS_MAX]);
  expect(Math.min(...bars.map(({ from, to }) => to - from))).toBeGreaterThan(90);
});

it('an answer has only the requested workers, by name, with the buckets of the window', () => {
  const stream = new TaskStream();
  const workers = new WorkerTable();
  const view = viewOf(['w10', 'w2', 'x1'].map((name) => ({ name, slots: 2, busy: 1 })));
  workers.update(view.workers, 0);
  stream.record(view, undefined, START);
  stream.take(
    detailOf([{ task: 0, worker: 'w2', from: START - 5_000, to: START + 5 }], START, 9),
    START,
    START,
  );
  const asked = { seconds: 20, worker: 'w', from: 0, limit: 9 };
  const answer = streamJson({ stream, workers, day }, asked, START);
  expect(answer.workers.map(({ name }) => name)).toEqual(['w2', 'w10']);
  expect(answer).toMatchObject({ total: 2, omitted: 0, jobs: [{ id: 'a-1', name: 'job', user: null }] });
  expect(answer.bars).toEqual([[0, 0, 0, 1, 0, 15_000, 5_000, 1, 0]]);
  expect(answer.workers[0]!.busy).toHaveLength(3);
  // The past reaches back one day.
  const past = streamJson({ stream, workers, day }, { ...asked, until: 0 }, START);
  expect(Date.parse(past.from)).toBe(START - HISTORY_KEPT_MS);
});

it('does not count an attempt that is shown as hidden load, after its end as well', () => {
  const stream = new TaskStream();
  const log = [
    { task: 0, worker: 'w0', from: START, to: START + 12_000 },
    { task: 1, worker: 'w1', from: START, to: START + 12_000 },
  ];
  const table = new WorkerTable();
  for (const at of [START + 1_000, START + 11_000, START + 21_000]) {
    const busy = at < START + 12_000 ? 1 : 0;
    const view = viewOf([
      { name: 'w0', slots: 2, busy },
      { name: 'w1', slots: 2, busy: 2 * busy },
    ]);
    stream.record(view, undefined, at);
    table.update(view.workers, at, at);
    stream.take(detailOf(log, at, 60), at, at);
  }
  const window = { seconds: 25, worker: '', from: 0, limit: 10 };
  const { workers } = streamJson({ stream, workers: table, day }, window, START + 25_000);
  expect(workers.map(({ name, busy, hidden }) => [name, busy, hidden])).toEqual([
    ['w0', [50, 50, 0], [0, 0, 0]],
    ['w1', [100, 100, 0], [50, 50, 0]],
  ]);
});

it('does not show as idle the gaps of a sample that leaves attempts out', () => {
  const table = new WorkerTable();
  // The worker is always busy, and the scheduler lists every second attempt.
  const log = Array.from({ length: 4 }, (_, task) => {
    const from = START + 5_000 * task;
    return { task, worker: 'w0', from, to: from + 5_000 };
  });
  const hiddenIn = (attemptsTruncated: boolean) => {
    const stream = new TaskStream();
    for (const at of [START + 1_000, START + 11_000, START + 21_000]) {
      const view = viewOf([{ name: 'w0', slots: 1, busy: at < START + 20_000 ? 1 : 0 }]);
      stream.record(view, undefined, at);
      table.update(view.workers, at, at);
      const listed = log.filter(({ task }) => task % 2 === 0);
      const detail = { ...detailOf(listed, at, 60), attemptsTruncated, firstStartMs: 0, endedMs: 20_000 };
      stream.take(detail, at, at);
    }
    const window = { seconds: 25, worker: '', from: 0, limit: 10 };
    return streamJson({ stream, workers: table, day }, window, START + 25_000).workers[0]!.hidden;
  };
  expect(hiddenIn(true)).toEqual([100, 100, 0]);
  // Otherwise the worker was idle there.
  expect(hiddenIn(false)).toEqual([0, 0, 0]);
});

it('counts hidden attempts of a worker that runs more tasks than it has CPUs', () => {
  const stream = new TaskStream();
  const table = new WorkerTable();
  const log = [{ task: 0, worker: 'w0', from: START, to: START + 9_000 }];
  const view = viewOf([{ name: 'w0', slots: 2, busy: 10 }]);
  stream.record(view, undefined, START + 1_000);
  table.update(view.workers, START + 1_000, START + 1_000);
  stream.take(detailOf(log, START + 1_000, 60), START + 1_000, START + 1_000);
  const window = { seconds: 5, worker: '', from: 0, limit: 10 };
  const { workers } = streamJson({ stream, workers: table, day }, window, START + 5_000);
  expect(workers).toMatchObject([{ busy: [100], hidden: [90] }]);
});

it('shows what central recorded before this process ran, also of workers that have left, and gaps as unknown', async () => {
  const minute = 60_000;
  const recorded = (at: number, roster: number, loads: number[]) => ({
    ...{ at: at / 1_000, seconds: 120, waiting: 0, busy: 1, slots: 4, use: {}, capacity: {}, roster },
    ...{ loads: Uint8Array.from(loads), short: UNKNOWN_RATES, long: UNKNOWN_RATES },
  });
  const points = [
    recorded(START - 30 * minute, 1, [40, 254]),
    recorded(START - 28 * minute, 1, [60, 254]),
    // Central was away for a few minutes.
    recorded(START - 20 * minute, 2, [100]),
  ];
  const rosters = [
    {
      id: 1,
      workers: [
        { name: 'old', slots: 4 },
        { name: 'w0', slots: 2 },
      ],
    },
    { id: 2, workers: [{ name: 'w0', slots: 2 }] },
  ];
  const past = new Day();
  const answers = { history: async () => ({ points, rosters }) } as unknown as Cluster;
  await past.refresh(answers, START, new AbortController().signal);
  const stream = new TaskStream();
  const workers = new WorkerTable();
  const view = viewOf([{ name: 'w0', slots: 2, busy: 1 }]);
  workers.update(view.workers, 0);
  stream.record(view, undefined, START);
  const window = { seconds: 900, until: START - 18 * minute, worker: '', from: 0, limit: 9 };
  const shown = streamJson({ stream, workers, day: past }, window, START);
  expect(shown.bucketSeconds).toBe(120);
  const loads = Object.fromEntries(
    shown.workers.map(({ name, busy }) => [name, busy.filter((one) => one !== null)]),
  );
  expect(loads).toEqual({ old: [40, 60], w0: [-1, -1, 100] });
  const [w0] = shown.workers.filter(({ name }) => name === 'w0');
  const [first, second, third] = w0!.busy.flatMap((load, at) => (load === null ? [] : [at])) as [
    number,
    number,
    number,
  ];
  expect([second - first, third - second]).toEqual([1, 4]);
  expect(shown.reserved.every((kept) => kept === null)).toBe(true);
  // The present is shown at the resolution of this process.
  expect(
    streamJson({ stream, workers, day: past }, { ...window, seconds: 60, until: undefined }, START)
      .bucketSeconds,
  ).toBe(10);
});
