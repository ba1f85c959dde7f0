import type { ClusterCounters, Counters } from '@goshawk/client';
import { expect, test } from 'vitest';
import { CounterWatch, readingPauseMs } from './counter-watch.js';

const worker = (steals: number, queued: number): Counters => ({
  stealAttempts: 10 * steals,
  stealSuccesses: steals,
  probesMoved: 2 * steals,
  queued,
});
const counters = (workers: Record<string, Counters>, silent: string[] = []): ClusterCounters => ({
  central: undefined,
  schedulers: {},
  workers,
  totals: { schedulers: {}, workers: {}, all: {} },
  silent,
});
const BEFORE = { counters: counters({ w0: worker(1, 0) }), view: { workers: [], schedulers: [] } };
const END = {
  messages: { total: 0, byType: {} },
  steals: { attempts: 90, successes: 9, probesMoved: 18 },
  incomplete: [],
};

/** A watch on a cluster that returns these answers in turn; an error means no answer. */
function watching(...answers: (ClusterCounters | Error)[]) {
  let asked = 0;
  const cluster = {
    counters: async () => {
      const answer = answers[asked++];
      if (answer === undefined || answer instanceof Error) throw answer ?? new Error('asked too often');
      return answer;
    },
  };
  const watch = new CounterWatch(cluster, BEFORE, { pauseMs: 1_000, signal: new AbortController().signal });
  return { watch, asked: () => asked };
}

test('reads counts since the start and queued entries when a reading is due', async () => {
  const { watch, asked } = watching(counters({ w0: worker(3, 4), w1: worker(2, 5) }));
  watch.observe(999);
  expect(asked()).toBe(0);
  watch.observe(1_000);
  const readings = await watch.finish(60_000, END);
  expect(readings).toEqual([
    {
      seconds: expect.closeTo(1, 0),
      stealAttempts: 40,
      stealSuccesses: 4,
      probesMoved: 8,
      queuedEntries: 9,
    },
    { seconds: 60, stealAttempts: 90, stealSuccesses: 9, probesMoved: 18 },
  ]);
});

test('starts no reading before the pause is over or while another is in progress', async () => {
  const { watch, asked } = watching(counters({}), counters({}));
  watch.observe(1_000);
  watch.observe(5_000);
  await watch.finish(60_000, END);
  watch.observe(5_001);
  expect(asked()).toBe(2);
  await watch.finish(60_000, END);
  watch.observe(6_000);
  expect(asked()).toBe(2);
});

test('leaves out failed and incomplete readings', async () => {
  const { watch } = watching(new Error('gone'), counters({ w0: worker(5, 1) }, ['worker w1']));
  watch.observe(1_000);
  await watch.finish(60_000, END);
  watch.observe(3_000);
  expect(await watch.finish(60_000, END)).toHaveLength(1);
});

test.each([
  [60_000, 100, 1_000],
  [3_600_000, 100, 60_000],
  [60_000, 10_000, 40_000],
])('over %i ms on %i workers it pauses for %i ms', (runMs, workers, pauseMs) => {
  expect(readingPauseMs(runMs, workers, true)).toBe(pauseMs);
});

test('no readings are taken during a run unless they are shown', () => {
  expect(readingPauseMs(60_000, 100, false)).toBe(Number.POSITIVE_INFINITY);
});
