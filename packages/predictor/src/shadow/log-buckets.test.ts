import { nearestRank } from '@goshawk/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type BucketCounts, countIn, quantileOf } from './log-buckets.js';

const values = fc.array(fc.oneof(fc.constant(0), fc.double({ min: 1e-5, max: 1e9, noNaN: true })), {
  minLength: 1,
  maxLength: 200,
});

function bucketsOf(all: readonly number[]): BucketCounts {
  const buckets: BucketCounts = {};
  for (const value of all) countIn(buckets, value);
  return buckets;
}

test('quantiles are accurate to 1%', () => {
  fc.assert(
    fc.property(values, fc.integer({ min: 1, max: 100 }), (all, percent) => {
      const exact = nearestRank(Float64Array.from(all).sort(), percent);
      const found = quantileOf(bucketsOf(all), percent / 100);
      expect(Math.abs(found - exact)).toBeLessThanOrEqual(0.0102 * exact);
    }),
  );
});

test('summed counts are counts of both', () => {
  fc.assert(
    fc.property(values, values, (ours, theirs) => {
      const sum = bucketsOf(ours);
      for (const [bucket, count] of Object.entries(bucketsOf(theirs)))
        sum[bucket] = (sum[bucket] ?? 0) + count;
      expect(quantileOf(sum, 0.9)).toBe(quantileOf(bucketsOf([...ours, ...theirs]), 0.9));
    }),
  );
});

test('without values there is no quantile', () => {
  expect(quantileOf({}, 0.5)).toBeNaN();
});
