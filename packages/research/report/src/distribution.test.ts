import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { meanOfPresent, percentileOfSorted, pooled, summarise } from './distribution.js';

const samples = fc.array(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }), {
  minLength: 1,
  maxLength: 300,
});

describe('percentiles by nearest rank', () => {
  test('the textbook example: 15 20 35 40 50', () => {
    const ascending = [15, 20, 35, 40, 50];
    expect([5, 30, 40, 50, 100].map((percent) => percentileOfSorted(ascending, percent))).toEqual([
      15, 20, 20, 35, 50,
    ]);
  });

  test('the p-th of 100 values is the p-th value, without rounding errors', () => {
    const ascending = Array.from({ length: 100 }, (_, index) => index + 1);
    for (let percent = 1; percent <= 100; percent += 1) {
      expect(percentileOfSorted(ascending, percent)).toBe(percent);
    }
  });

  test('the percentile is the smallest value that at least p % do not exceed', () => {
    fc.assert(
      fc.property(samples, fc.integer({ min: 1, max: 100 }), (values, percent) => {
        const found = percentileOfSorted(Float64Array.from(values).sort(), percent)!;
        expect(values).toContain(found);
        const needed = percent * values.length;
        expect(100 * values.filter((value) => value <= found).length).toBeGreaterThanOrEqual(needed);
        expect(100 * values.filter((value) => value < found).length).toBeLessThan(needed);
      }),
    );
  });
});

describe('summarise', () => {
  test('gives count, mean, percentiles and maximum of values in any order', () => {
    expect(summarise([4, 1, 3, 2])).toEqual({ count: 4, mean: 2.5, p50: 2, p90: 4, p99: 4, max: 4 });
  });

  test('orders as numbers, not as text', () => {
    expect(summarise([10, 9, 100]).p50).toBe(10);
  });

  test('an empty sample has a count of 0 and nulls, which JSON can represent', () => {
    const empty = { count: 0, mean: null, p50: null, p90: null, p99: null, max: null };
    expect(JSON.parse(JSON.stringify(summarise([])))).toEqual(empty);
  });

  test('keeps its input and does not depend on its order', () => {
    fc.assert(
      fc.property(samples, (values) => {
        const before = [...values];
        expect(summarise(values)).toEqual(summarise(values.toReversed()));
        expect(values).toEqual(before);
      }),
    );
  });
});

test('the mean ignores nulls, and is null without numbers', () => {
  expect(meanOfPresent([1, null, 3])).toBe(2);
  expect(meanOfPresent([null])).toBeNull();
});

const numbers = fc.array(fc.double({ noNaN: true, min: -1e6, max: 1e6 }).map((value) => value + 0));

test('pooling samples sorts all of their values together', () => {
  fc.assert(
    fc.property(numbers, numbers, (left, right) => {
      expect(pooled([left, Float64Array.from(right)])).toEqual(Float64Array.from([...left, ...right]).sort());
    }),
  );
});
