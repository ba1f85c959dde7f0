import { nearestRank } from '@goshawk/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RollingMedian } from './rolling-median.js';

test('is the median of the last numbers, whatever they are', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 60 }),
      (size, values) => {
        const median = new RollingMedian(size);
        values.forEach((value, index) => {
          median.add(value);
          const last = values.slice(Math.max(0, index + 1 - size), index + 1).sort((a, b) => a - b);
          expect(median.median).toBe(nearestRank(last, 50));
        });
        expect(median.save()).toEqual(values.slice(-size));
        const again = new RollingMedian(size);
        again.load(median.save());
        expect(again.median).toBe(median.median);
      },
    ),
  );
});

test('of nothing there is none', () => {
  expect(new RollingMedian(5).median).toBeUndefined();
});
