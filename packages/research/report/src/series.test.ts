import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { buildSeries, countedSeries, SERIES_POINTS_MAX } from './series.js';

/** Takes a snapshot every 100 s. By default a single task waits at the very end. */
function busyAt(
  busySlots: readonly number[],
  {
    submittedSeconds = 0,
    waiting = busySlots.map((_, at): number => (at === busySlots.length - 1 ? 1 : 0)),
  } = {},
) {
  const both = { short: waiting, long: waiting };
  return buildSeries(100, submittedSeconds, { busySlots, waitingTasks: both, jobsUnderway: both }, null);
}

describe('levels over time', () => {
  test('are unchanged while there are few of them', () => {
    const { seconds, busySlots } = busyAt([3, 4]);
    expect({ seconds, busySlots }).toEqual({ seconds: [100, 200], busySlots: [3, 4] });
  });

  test('are means over regular intervals in a long run', () => {
    const { seconds, busySlots } = busyAt(Array.from({ length: 2_400 }, (_, index) => index));
    expect(seconds.slice(0, 2)).toEqual([300, 600]);
    expect(busySlots.slice(0, 2)).toEqual([1, 4]);
    expect(seconds.at(-1)).toBe(240_000);
  });

  test('are dense until jobs have arrived and waited, and sparse during a long tail', () => {
    const snapshots = Array.from({ length: 9_700 }, () => 1);
    const waiting = snapshots.map((_, at) => (at < 700 ? 5 : 0));
    const { seconds, settledSeconds } = busyAt(snapshots, { waiting });
    expect(settledSeconds).toBe(66_500);
    expect(seconds.slice(0, 3)).toEqual([100, 200, 300]);
    expect(seconds.filter((at) => at <= 80_000)).toHaveLength(800);
    expect(seconds.at(-1)! - seconds.at(-2)!).toBeGreaterThan(1_000);
    expect(seconds.at(-1)).toBe(970_000);
  });

  test('are not settled before the last submission', () => {
    const { settledSeconds, submittedSeconds } = busyAt([1, 1, 1, 1, 1], {
      submittedSeconds: 320,
      waiting: [9, 0, 0, 0, 0],
    });
    expect({ settledSeconds, submittedSeconds }).toEqual({ settledSeconds: 400, submittedSeconds: 320 });
  });

  test('have columns of equal length, limited points and unchanged totals', () => {
    const snapshots = fc.array(fc.integer({ min: 0, max: 1000 }), { maxLength: 3000, size: 'max' });
    fc.assert(
      fc.property(snapshots, (all) => {
        const { seconds, busySlots, waitingTasks, jobsUnderway } = busyAt(all);
        expect(busySlots.length).toBeLessThanOrEqual(SERIES_POINTS_MAX);
        for (const column of [busySlots, waitingTasks.short, waitingTasks.long, jobsUnderway.short]) {
          expect(column.length).toBe(seconds.length);
        }
        const sum = seconds.reduce(
          (total, at, point) => total + (busySlots[point]! * (at - (seconds[point - 1] ?? 0))) / 100,
          0,
        );
        expect(sum).toBeCloseTo(
          all.reduce((total, level) => total + level, 0),
          -1,
        );
      }),
      { numRuns: 40 },
    );
  });
});

describe('readings of counters', () => {
  const reading = (seconds: number, count: number) => ({
    seconds,
    stealAttempts: 10 * count,
    stealSuccesses: count,
    probesMoved: 2 * count,
  });

  test('become differences from the previous reading', () => {
    const readings = [{ ...reading(7, 1), queuedEntries: 5 }, reading(12, 4)];
    expect(countedSeries(readings)).toEqual({
      seconds: [7, 12],
      stealAttempts: [10, 30],
      stealSuccesses: [1, 3],
      probesMoved: [2, 6],
      queuedEntries: [5, null],
    });
  });

  test('are limited in number without losing counts', () => {
    const readings = Array.from({ length: 3 * SERIES_POINTS_MAX + 1 }, (_, index) =>
      reading(index + 1, index),
    );
    const { seconds, stealAttempts } = countedSeries(readings)!;
    expect(seconds.length).toBeLessThanOrEqual(SERIES_POINTS_MAX);
    expect(seconds.at(-1)).toBe(readings.length);
    expect(stealAttempts.reduce((sum, attempts) => sum + attempts, 0)).toBe(readings.at(-1)!.stealAttempts);
  });

  test('are absent without readings', () => {
    expect(countedSeries(undefined)).toBeNull();
    expect(countedSeries([])).toBeNull();
  });
});
