import { expect, test } from 'vitest';
import { ClockReadings, clockWarnings } from './clocks.js';

const HEARTBEAT_MS = 500;

/** The readings of a clock whose heartbeats arrive with this delay. */
function readings(aheadMs: number, seconds: number, delayMs: number) {
  const clock = new ClockReadings(0);
  for (let at = 0; at < 1_000 * seconds; at += HEARTBEAT_MS) {
    clock.add(aheadMs - delayMs, at + delayMs);
  }
  return clock;
}

/** Heartbeats that were sent from this second on arrive at once when the stall ends. */
const stalled = (from: number, to: number) => (second: number) =>
  second < from || second >= to ? 1 : 1_000 * (to - second) + 1;

test.each([
  ['behind', -95_000],
  ['ahead', 95_000],
  ['right', 0],
])('a clock that is %s shows after a minute', (_what, aheadMs) => {
  expect(readings(aheadMs, 60, 1).aheadMs).toBe(aheadMs - 1);
  expect(readings(aheadMs, 10, 1).aheadMs).toBeUndefined();
});

test.each([1, 29, 31, 45, 62])('no stall of central after %i s makes a clock look late', (from) => {
  for (const forS of [2, 20, 100]) {
    const clock = new ClockReadings(0);
    const delayMs = stalled(from, from + forS);
    for (let at = 0; at < 200_000; at += HEARTBEAT_MS) {
      const delay = delayMs(at / 1_000);
      clock.add(-delay, at + delay);
      expect(clock.aheadMs ?? 0).toBeGreaterThan(-2_000);
    }
  }
});

test('a corrected clock shows after a minute', () => {
  const clock = readings(95_000, 60, 1);
  for (let at = 60_000; at < 125_000; at += HEARTBEAT_MS) clock.add(-1, at);
  expect(clock.aheadMs).toBe(-1);
});

test.each([
  ['two that agree', { s1: -1_900, s2: 1_900 }, []],
  ['the only scheduler', { s1: -95_000 }, ['scheduler s1 is 1 min 35 s behind']],
  ['one of two schedulers', { s1: 10, s2: 3_000 }, ['scheduler s2 is 3 s ahead of']],
  ['one of three schedulers', { s1: 10, s2: -10, s3: 7_000 }, ['scheduler s3 is 7 s ahead of']],
  ['central', { s1: -95_000, s2: -95_100 }, ['central is 1 min 35 s ahead of']],
])('of clocks, %s', (_what, clocks, expected) => {
  expect(clockWarnings(new Map(Object.entries(clocks)))).toEqual(
    expected.map((start) => `the clock of ${start} the others: its times are shown accordingly`),
  );
});
