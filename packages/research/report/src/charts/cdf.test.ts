import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cdf } from './cdf.js';

test('a small sample is drawn value by value', () => {
  expect(cdf(Float64Array.of(1, 10, 100, 100), 1)).toEqual([
    [1, 0],
    [1, 0.25],
    [10, 0.5],
    [100, 0.75],
    [100, 1],
  ]);
});

test('a value of 0 is drawn at the least positive one', () => {
  expect(cdf(Float64Array.of(0, 10), 10)).toEqual([
    [10, 0],
    [10, 0.5],
    [10, 1],
  ]);
});

test('any sample is drawn as a few hundred ascending points on the distribution', () => {
  const sample = fc.array(fc.double({ min: 1e-6, max: 1e6, noNaN: true }), {
    minLength: 1,
    maxLength: 3000,
    size: 'max',
  });
  fc.assert(
    fc.property(sample, (values) => {
      const ascending = Float64Array.from(values).sort();
      const points = cdf(ascending, ascending[0]!);
      expect(points.length).toBeLessThanOrEqual(241);
      expect(points.at(-1)).toEqual([ascending.at(-1)!, 1]);
      for (const [index, [x, share]] of points.slice(1).entries()) {
        expect(x).toBeGreaterThanOrEqual(points[index]![0]);
        expect(share).toBeGreaterThan(points[index]![1]);
        expect(x).toBe(ascending[Math.round(share * ascending.length) - 1]!);
      }
    }),
    { numRuns: 40 },
  );
});
