import { nearestRank } from '@goshawk/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LogBuckets } from './log-buckets.js';

const values = fc.array(fc.oneof(fc.constant(0), fc.double({ min: 1e-5, max: 1e9, noNaN: true })), {
  minLength: 1,
  maxLength: 200,
});

function bucketsOf(all: readonly number[]): LogBuckets {
  const buckets = new LogBuckets();
  for (const value of all) buckets.add(value);
  return buckets;
}

test('quantiles are those of the values, to 1%', () => {
  fc.assert(
    fc.property(values, fc.integer({ min: 1, max: 100 }), (all, percent) => {
      const exact = nearestRank(Float64Array.from(all).sort(), percent);
      const found = bucketsOf(all).quantile(percent / 100);
      expect(Math.abs(found - exact)).toBeLessThanOrEqual(0.0102 * exact);
    }),
  );
});

test('counts that are added are counts of both', () => {
  fc.assert(
    fc.property(values, values, (ours, theirs) => {
      const sum: Record<string, number> = { ...bucketsOf(ours).counts() };
      for (const [bucket, count] of Object.entries(bucketsOf(theirs).counts()))
        sum[bucket] = (sum[bucket] ?? 0) + count;
      expect(LogBuckets.of(sum).quantile(0.9)).toBe(bucketsOf([...ours, ...theirs]).quantile(0.9));
    }),
  );
});

test('there is no quantile of nothing', () => {
  expect(new LogBuckets().quantile(0.5)).toBeNaN();
});
