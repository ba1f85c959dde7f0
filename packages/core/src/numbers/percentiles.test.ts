import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nearestRank, sixNumbersOf } from './percentiles.js';

describe('percentiles', () => {
  it('are the smallest value that is not below the given share of values', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer(), { minLength: 1 }).map((list) => Float64Array.from(list).sort()),
        fc.integer({ min: 1, max: 100 }),
        (sorted, percent) => {
          const value = nearestRank(sorted, percent);
          const needed = (percent * sorted.length) / 100;
          expect(sorted.filter((each) => each <= value).length).toBeGreaterThanOrEqual(needed);
          expect(sorted.filter((each) => each < value).length).toBeLessThan(needed);
        },
      ),
    );
  });

  it('are undefined for an empty list', () => {
    expect(sixNumbersOf([])).toBeUndefined();
  });
});
