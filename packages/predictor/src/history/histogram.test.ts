import { nearestRank } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BINS_MAX, Histogram } from './histogram.js';

// Thousandths of a millisecond: of closer values the rounding of doubles decides which quantile is greater.
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

/** The bin that a value stands in: bins do not overlap, so there is one. */
function binOf(histogram: Histogram, value: number) {
  return histogram.segments().find(({ from, to }) => from <= value && value <= to)!;
}

describe('a streaming histogram', () => {
  test('quantiles are exact while there are no more distinct values than bins', () => {
    const few = fc.array(fc.integer({ min: 1, max: BINS_MAX }), { minLength: 1, maxLength: 500 });
    fc.assert(
      fc.property(few, fc.integer({ min: 1, max: 100 }), (values, percent) => {
        const sorted = Float64Array.from(values).sort();
        expect(histogramOf(values).quantile(percent / 100)).toBe(
          sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)],
        );
      }),
    );
  });

  test('quantiles are off by less than the width of the bin that the exact one stands in', () => {
    fc.assert(
      fc.property(runTimes, bins, fc.integer({ min: 1, max: 99 }), (values, binsMax, percent) => {
        const histogram = histogramOf(values, binsMax);
        const exact = nearestRank(Float64Array.from(values).sort(), percent);
        const bin = binOf(histogram, exact);
        expect(histogram.quantile(percent / 100)).toBeGreaterThanOrEqual(bin.from);
        expect(histogram.quantile(percent / 100)).toBeLessThanOrEqual(bin.to);
      }),
    );
  });

  test('keeps to its bins, counts everything, and knows mean, least and greatest value', () => {
    fc.assert(
      fc.property(runTimes, bins, (values, binsMax) => {
        const histogram = histogramOf(values, binsMax);
        expect(histogram.binCount).toBeLessThanOrEqual(binsMax);
        expect(histogram.count).toBe(values.length);
        expect(histogram.min).toBe(Math.min(...values));
        expect(histogram.max).toBe(Math.max(...values));
        expect(histogram.mean).toBeCloseTo(values.reduce((a, b) => a + b, 0) / values.length, 3);
        const segments = histogram.segments();
        expect(segments.reduce((total, { p }) => total + p, 0)).toBeCloseTo(1, 9);
        for (let i = 1; i < segments.length; i++)
          expect(segments[i]!.from).toBeGreaterThan(segments[i - 1]!.to);
      }),
    );
  });

  test('the sum up to a quantile is the rank of that quantile, or that of the last equal value', () => {
    fc.assert(
      fc.property(runTimes, bins, fc.double({ min: 0.01, max: 1, noNaN: true }), (values, binsMax, q) => {
        const histogram = histogramOf(values, binsMax);
        const rank = Math.ceil(q * values.length);
        expect(histogram.sum(histogram.quantile(q))).toBeGreaterThanOrEqual(rank - 1e-3);
        expect(histogram.sum(histogram.max)).toBe(values.length);
        expect(histogram.sum(histogram.min - 1)).toBe(0);
      }),
    );
  });

  test('merged histograms count like one of all values, and their quantiles stay within its bins', () => {
    fc.assert(
      fc.property(runTimes, runTimes, bins, (mine, theirs, binsMax) => {
        const merged = histogramOf(mine, binsMax);
        merged.merge(histogramOf(theirs, binsMax));
        const all = [...mine, ...theirs];
        expect(merged.count).toBe(all.length);
        expect(merged.binCount).toBeLessThanOrEqual(binsMax);
        expect(merged.max).toBe(Math.max(...all));
        const exact = nearestRank(Float64Array.from(all).sort(), 50);
        const bin = binOf(merged, exact);
        expect(merged.quantile(0.5)).toBeGreaterThanOrEqual(bin.from);
        expect(merged.quantile(0.5)).toBeLessThanOrEqual(bin.to);
      }),
    );
  });

  test('a saved one goes on as if it had never been away', () => {
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

  test('says nothing of no values', () => {
    const empty = new Histogram();
    expect([empty.quantile(0.5), empty.mean, empty.min, empty.max]).toEqual([NaN, NaN, NaN, NaN]);
    expect([empty.sum(1), empty.segments()]).toEqual([0, []]);
  });
});
