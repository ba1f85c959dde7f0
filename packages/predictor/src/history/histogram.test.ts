import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BINS_MAX, Histogram } from './histogram.js';

// Thousandths of a millisecond: for closer values, rounding decides which quantile is greater.
const runTime = fc.oneof(
  fc.integer({ min: 0, max: 1e9 }).map((thousandths) => thousandths / 1_000),
  fc.integer({ min: 0, max: 50 }),
  fc.constantFrom(1, 1_000, 1_000_000),
);
const runTimes = fc.array(runTime, { minLength: 1, maxLength: 400 });
const bins = fc.integer({ min: 2, max: BINS_MAX });

function histogramOf(values: readonly number[], binsMax = BINS_MAX): Histogram {
  const histogram = new Histogram(binsMax);
  for (const value of values) histogram.add(value);
  return histogram;
}

describe('a streaming histogram', () => {
  test('is exact as long as there are no more distinct values than bins', () => {
    const few = fc.array(fc.integer({ min: 1, max: BINS_MAX }), { minLength: 1, maxLength: 500 });
    fc.assert(
      fc.property(few, (values) => {
        const distinct = [...new Set(values)].sort((a, b) => a - b);
        expect(histogramOf(values).segments()).toEqual(
          distinct.map((value) => ({
            from: value,
            to: value,
            p: values.filter((each) => each === value).length / values.length,
          })),
        );
      }),
    );
  });

  test('has at most `binsMax` disjoint bins, each with the count and sum of the values between its bounds', () => {
    fc.assert(
      fc.property(runTimes, bins, (values, binsMax) => {
        const histogram = histogramOf(values, binsMax);
        const saved = histogram.save();
        expect(saved.length).toBeLessThanOrEqual(binsMax);
        expect(histogram.count).toBe(values.length);
        let last = -1;
        for (const bin of saved) {
          const [n, sum, lo, hi] = typeof bin === 'number' ? ([1, bin, bin, bin] as const) : bin;
          const inside = values.filter((value) => value >= lo && value <= hi);
          expect(lo).toBeGreaterThan(last);
          expect([n, lo, hi]).toEqual([inside.length, Math.min(...inside), Math.max(...inside)]);
          expect(sum).toBeCloseTo(
            inside.reduce((a, b) => a + b, 0),
            3,
          );
          last = hi;
        }
        expect(histogram.segments().reduce((total, { p }) => total + p, 0)).toBeCloseTo(1, 9);
      }),
    );
  });

  test('continues from its saved state as if it had never been saved', () => {
    fc.assert(
      fc.property(runTimes, runTimes, (before, after) => {
        const stayed = histogramOf(before);
        const returned = Histogram.load(stayed.save());
        for (const value of after) {
          stayed.add(value);
          returned.add(value);
        }
        expect(returned.save()).toEqual(stayed.save());
        expect(returned.count).toBe(stayed.count);
      }),
    );
  });

  test('joins the two closest centroids, the first pair on ties', () => {
    const histogram = histogramOf([0, 10, 11, 20, 21], 4);
    expect(histogram.segments()).toEqual([
      { from: 0, to: 0, p: 0.2 },
      { from: 10, to: 11, p: 0.4 },
      { from: 20, to: 20, p: 0.2 },
      { from: 21, to: 21, p: 0.2 },
    ]);
  });

  test('has no quantiles without values', () => {
    expect(new Histogram().segments()).toEqual([]);
  });
});
