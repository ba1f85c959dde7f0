import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lineChart } from './line-chart.js';
import { type Point, thinned } from './lines.js';

const points = fc
  .array(fc.double({ min: 0, max: 1e6, noNaN: true }), { maxLength: 500 })
  .map((values) => values.map((value, index): Point => [index, value]));

describe('reducing a series over time', () => {
  test('keeps a short series', () => {
    expect(
      thinned(
        [
          [0, 3],
          [1, 4],
        ],
        2,
      ),
    ).toEqual([
      [0, 3],
      [1, 4],
    ]);
  });

  test('replaces each interval by a point with its mean', () => {
    const series: Point[] = [
      [0, 1],
      [1, 3],
      [2, 10],
      [3, 20],
    ];
    expect(thinned(series, 2)).toEqual([
      [1, 2],
      [3, 15],
    ]);
  });

  test('keeps times ascending, values within their range, and the limit of points', () => {
    fc.assert(
      fc.property(points, fc.integer({ min: 1, max: 50 }), (series, count) => {
        const fewer = thinned(series, count);
        expect(fewer.length).toBe(Math.min(count, series.length));
        const values = series.map(([, value]) => value);
        for (const [, value] of fewer) {
          expect(value).toBeGreaterThanOrEqual(Math.min(...values) * (1 - 1e-9));
          expect(value).toBeLessThanOrEqual(Math.max(...values) * (1 + 1e-9));
        }
        for (const [at, [seconds]] of fewer.slice(1).entries())
          expect(seconds).toBeGreaterThan(fewer[at]![0]);
      }),
    );
  });
});

test('lines that coincide have their markers at different points', () => {
  const points = Array.from({ length: 100 }, (_, index): Point => [index, index]);
  const { draw } = lineChart({
    x: { name: 'x' },
    y: { name: 'y' },
    lines: [
      { name: 'one', points },
      { name: 'other', points },
    ],
  });
  const svg = draw({ width: 500, height: 300 });
  const marked = [...svg.matchAll(/transform="translate\(([\d.]+) [\d.]+\)"/g)].map((match) => match[1]);
  expect(marked).toHaveLength(10);
  expect(new Set(marked).size).toBe(10);
});
