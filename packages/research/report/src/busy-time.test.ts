import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BusyTime } from './busy-time.js';

function busyOf(...tasks: readonly (readonly [from: number, to: number])[]): BusyTime {
  const busy = new BusyTime();
  for (const [from, to] of tasks) busy.add(from, to);
  return busy;
}

test('a short run is measured as exactly as a long one', () => {
  // The run has 60 s and 1 s of work on 2 slots over 102 s.
  const busy = busyOf([0, 60], [101, 102]);
  const { mean, p50, max } = busy.until(102, 2);
  expect(mean).toBeCloseTo(61 / 204, 12);
  expect(p50).toBe(0.5);
  expect(max).toBe(0.5);
  expect(busy.until(101, 2).mean).toBeCloseTo(60 / 202, 12);
});

test('a consecutive task takes no second slot, even if its times are slightly inexact', () => {
  expect(busyOf([0, 10], [10, 20]).until(20, 2).max).toBe(0.5);
  expect(busyOf([0, 0.1 + 0.2], [0.3, 1]).until(1, 2).max).toBe(0.5);
  expect(busyOf([0, 11], [10, 20]).until(20, 1)).toMatchObject({ mean: 1, max: 1 });
});

test('the share is null if no time has passed', () => {
  expect(busyOf([0, 1]).until(0, 1)).toEqual({ mean: null, p50: null, max: null });
});

test('the mean is work ÷ (slots × makespan)', () => {
  const task = fc.tuple(fc.nat(1_000), fc.integer({ min: 1, max: 500 }));
  fc.assert(
    fc.property(fc.array(task, { minLength: 1, maxLength: 50 }), (tasks) => {
      const busy = busyOf(...tasks.map(([from, length]) => [from, from + length] as const));
      const makespan = Math.max(...tasks.map(([from, length]) => from + length));
      const work = tasks.reduce((sum, [, length]) => sum + length, 0);
      const { mean, p50, max } = busy.until(makespan, 50);
      expect(mean).toBeCloseTo(work / (50 * makespan), 9);
      const levels = Array.from(
        { length: makespan },
        (_, second) => tasks.filter(([from, length]) => from <= second && second < from + length).length,
      ).sort((a, b) => a - b);
      expect(max! * 50).toBeCloseTo(levels.at(-1)!, 9);
      expect(p50! * 50).toBeCloseTo(levels[Math.ceil(makespan / 2) - 1]!, 9);
    }),
  );
});

test('a task occupies as many CPUs as it demands', () => {
  const busy = new BusyTime();
  busy.add(0, 100);
  busy.add(0, 100, 62.5);
  busy.add(100, 200, 0.25);
  const { mean, p50, max } = busy.until(200, 127);
  expect(mean).toBeCloseTo((63.5 * 100 + 0.25 * 100) / (200 * 127), 12);
  expect(p50).toBeCloseTo(0.25 / 127, 12);
  expect(max).toBe(0.5);
});

test('fractions that fill a CPU are the whole CPU', () => {
  const busy = new BusyTime();
  for (let task = 0; task < 10; task++) busy.add(0, 10, 0.1);
  expect(busy.until(10, 1)).toEqual({ mean: 1, p50: 1, max: 1 });
});
