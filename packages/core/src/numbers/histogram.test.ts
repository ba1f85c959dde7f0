import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Histogram, logBounds } from './histogram.js';

describe('a histogram', () => {
  it('counts a value equal to a bound below it, and values above all bounds last', () => {
    const histogram = new Histogram([1, 10]);
    for (const value of [0, 1, 1.1, 10, 11, Number.POSITIVE_INFINITY]) histogram.add(value);
    expect(histogram.counts).toEqual([2, 2, 2]);
    expect(histogram.count).toBe(6);
  });

  it('the sum of two equals one of all values', () => {
    const values = fc.array(fc.integer({ min: 0, max: 100 }));
    fc.assert(
      fc.property(values, values, (some, others) => {
        const [one, other, both] = [some, others, [...some, ...others]].map((each) => {
          const histogram = new Histogram([5, 20, 80]);
          for (const value of each) histogram.add(value);
          return histogram;
        }) as [Histogram, Histogram, Histogram];
        one.addAll(other);
        expect(one).toEqual(both);
      }),
    );
  });

  it('has logarithmic bounds at most 20% apart', () => {
    const bounds = logBounds(1, 1e10);
    expect(bounds[0]).toBe(1);
    expect(bounds.at(-1)).toBe(1e10);
    for (const [index, bound] of bounds.entries())
      if (index > 0) expect(bound / bounds[index - 1]!).toBeLessThanOrEqual(1.2);
  });
});
