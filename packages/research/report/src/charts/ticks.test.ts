import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { linearScale, logScale, ratioScale, type Scale } from './ticks.js';

const positive = fc.double({ min: 1e-6, max: 1e9, noNaN: true });

function assertSound({ min, max, ticks }: Scale, countMax: number): void {
  expect(min).toBeLessThan(max);
  expect(ticks.length).toBeGreaterThanOrEqual(2);
  expect(ticks.length).toBeLessThanOrEqual(countMax);
  expect(ticks).toEqual(ticks.toSorted((a, b) => a - b));
  for (const tick of ticks) {
    expect(tick).toBeGreaterThanOrEqual(min);
    expect(tick).toBeLessThanOrEqual(max);
  }
}

describe('ticks are few, ascending and within the scale', () => {
  test('logarithmic', () => {
    fc.assert(
      fc.property(positive, positive, (a, b) => {
        const [least, greatest] = [Math.min(a, b), Math.max(a, b)];
        const scale = logScale(least, greatest);
        assertSound(scale, 9);
        expect(scale.min).toBeLessThanOrEqual(Math.log10(least));
        expect(scale.max).toBeGreaterThanOrEqual(Math.log10(greatest));
      }),
    );
  });

  test('ratios, including 1', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 1e-5, max: 1e5, noNaN: true })), (ratios) => {
        const scale = ratioScale(ratios);
        assertSound(scale, 12);
        expect(scale.ticks).toContain(0);
      }),
    );
  });

  test('linear, from 0 to a round number', () => {
    fc.assert(
      fc.property(positive, (greatest) => {
        const scale = linearScale(greatest);
        assertSound(scale, 8);
        expect(scale.min).toBe(0);
        expect(scale.max).toBeGreaterThanOrEqual(greatest * (1 - 1e-9));
      }),
    );
  });
});

test.each([
  [0.01, 5, [0.01, 0.03, 0.1, 0.3, 1, 3]],
  [0.6, 7, [1, 2, 5]],
  [1, 1e6, [1, 10, 100, 1000, 1e4, 1e5, 1e6]],
  [100, 180, [100, 120, 140, 160, 180]],
])('from %s to %s: %j', (least, greatest, expected) => {
  const ticks = logScale(least, greatest).ticks.map((tick) => Number((10 ** tick).toPrecision(6)));
  expect(ticks).toEqual(expected);
});

test('ratios from 0.55 to 1.55 have more ticks than 1', () => {
  const ticks = ratioScale([0.55, 1.55]).ticks.map((tick) => Number((10 ** tick).toPrecision(6)));
  expect(ticks).toEqual([0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.4, 1.6]);
});

test.each([
  [0.4, 1, [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25]],
  [0.25, 1, [0.3, 0.4, 0.5, 0.7, 1]],
  [0.25, 3, [0.3, 0.4, 0.5, 0.7, 1, 1.5, 2, 3]],
  [0.03, 2, [0.05, 0.1, 0.2, 0.5, 1, 2]],
])('ratios from %s to %s have ticks down to the least: %j', (least, greatest, expected) => {
  const ticks = ratioScale([least, greatest]).ticks.map((tick) => Number((10 ** tick).toPrecision(6)));
  expect(ticks).toEqual(expected);
});
