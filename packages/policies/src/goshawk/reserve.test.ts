import { expect, test } from 'vitest';
import { LongLimit } from './reserve.js';

const WINDOW_MS = 4_000;

/** Reserved slots if short work needs this many on average. */
function reserveOf(needed: number, slots: number): number {
  const limit = new LongLimit('auto', WINDOW_MS);
  limit.shortArrived(needed * WINDOW_MS, 0);
  return slots - limit.of(slots, 0);
}

test('covers the demand of short work, and a twentieth of a large cluster for bursts', () => {
  expect(reserveOf(1_000, 10_000)).toBe(1_000 + 500);
  expect(reserveOf(2_000, 10_000)).toBe(2_000 + 500);
});

test('covers larger bursts in a small cluster: four square roots of the demand', () => {
  expect(reserveOf(16, 200)).toBe(16 + 4 * 4);
  expect(reserveOf(100, 800)).toBe(100 + 4 * 10);
});

test('covers only bursts without short work, and is at most three tenths', () => {
  expect([1, 9, 10, 24, 49, 10_000].map((slots) => reserveOf(0, slots))).toEqual([0, 0, 1, 1, 2, 500]);
  expect(reserveOf(9_000, 10_000)).toBe(3_000);
});

test('is the configured fraction, regardless of demand', () => {
  const limit = new LongLimit(0.17, WINDOW_MS);
  limit.shortArrived(500 * WINDOW_MS, 0);
  expect(limit.of(1_000, 0)).toBe(830);
});

test('decays', () => {
  const limit = new LongLimit('auto', WINDOW_MS);
  limit.shortArrived(1_000 * WINDOW_MS, 0);
  expect(limit.of(10_000, 100 * WINDOW_MS)).toBe(9_500);
});

test('counts slots of tasks not known to be long if those exceed the short work that arrived', () => {
  const limit = new LongLimit('auto', WINDOW_MS);
  limit.shortArrived(20 * WINDOW_MS, 0);
  expect(1_000 - limit.of(1_000, 0)).toBe(20 + 50);
  limit.setShortSlots(100, 0);
  limit.setShortSlots(100, 1_000 * WINDOW_MS);
  expect(1_000 - limit.of(1_000, 1_000 * WINDOW_MS)).toBe(100 + 50);
  // The tasks have ended, and their demand has decayed.
  limit.setShortSlots(0, 1_000 * WINDOW_MS);
  limit.setShortSlots(0, 2_000 * WINDOW_MS);
  expect(1_000 - limit.of(1_000, 2_000 * WINDOW_MS)).toBe(50);
});

test('does not depend on how often slots are reported', () => {
  const limits = [1, 1_000].map((times) => {
    const limit = new LongLimit('auto', WINDOW_MS);
    for (let i = 0; i <= times; i++) limit.setShortSlots(500, (i * 10 * WINDOW_MS) / times);
    return limit.of(5_000, 10 * WINDOW_MS);
  });
  expect(limits[0]).toBe(limits[1]);
});
