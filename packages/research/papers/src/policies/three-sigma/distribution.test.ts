import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  assumedEnd,
  expectedShareHeld,
  longest,
  mean,
  pointDistribution,
  scale,
  survival,
} from './distribution.js';
import { decreasingUtility, expectedUtility, extendedUtility, stepUtility, type Utility } from './utility.js';

const distributions = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 20 })), {
    minLength: 1,
    maxLength: 6,
  })
  .map((segments) => segments.map(([from, width]) => ({ from, to: from + width, p: 1 / segments.length })));

describe('a distribution of run times', () => {
  test("survival falls from 1 to 0, and is the share of a point's lifetime beyond a time", () => {
    fc.assert(
      fc.property(distributions, fc.double({ min: 0, max: 80, noNaN: true }), (distribution, t) => {
        const here = survival(distribution, t);
        expect(here).toBeGreaterThanOrEqual(survival(distribution, t + 1) - 1e-12);
        expect(survival(distribution, -1)).toBeCloseTo(1, 9);
        expect(survival(distribution, longest(distribution))).toBe(0);
        expect(survival(scale(distribution, 2), 2 * t)).toBeCloseTo(here, 9);
      }),
    );
  });

  test('a point has ended at its exact time', () => {
    expect([4, 5].map((t) => survival(pointDistribution(5), t))).toEqual([1, 0]);
    expect(mean(pointDistribution(5))).toBe(5);
  });

  test('the current use of a running job is certain for any estimate, and never grows later', () => {
    fc.assert(
      fc.property(distributions, fc.nat(200), fc.nat(50), (distribution, elapsed, after) => {
        expect(expectedShareHeld(distribution, elapsed, 0, 2)).toBe(1);
        const later = expectedShareHeld(distribution, elapsed, after, 2);
        expect(later).toBeGreaterThanOrEqual(expectedShareHeld(distribution, elapsed, after + 1, 2) - 1e-12);
      }),
    );
  });

  test('an underestimate is extended by 1, 2, 4 … cycles', () => {
    expect([14, 15, 16, 18, 22].map((elapsed) => assumedEnd(15, elapsed, 1))).toEqual([15, 16, 18, 22, 30]);
  });
});

describe('expected utility', () => {
  const utilities: fc.Arbitrary<Utility> = fc.oneof(
    fc.integer({ min: 1, max: 60 }).map((deadline) => stepUtility(deadline, 10)),
    fc.integer({ min: 1, max: 60 }).map((deadline) => extendedUtility(deadline, deadline + 25, 10, 0.5)),
    fc.integer({ min: 0, max: 5 }).map((submitted) => decreasingUtility(submitted, 40, 1, 0.05)),
  );

  test('is the mean value of many draws', () => {
    fc.assert(
      fc.property(distributions, utilities, fc.nat(40), (distribution, utility, start) => {
        const draws = 4_000;
        let total = 0;
        for (const { from, to, p } of distribution) {
          for (let i = 0; i < draws; i++) {
            const at = start + from + ((i + 0.5) / draws) * (to - from);
            const { at: base, slope } = utility.find(({ until }) => at <= until)!;
            total += (p * (base + slope * at)) / draws;
          }
        }
        expect(expectedUtility(utility, distribution, start)).toBeCloseTo(total, 1);
      }),
      { numRuns: 50 },
    );
  });

  test('includes the deadline itself', () => {
    expect([4, 5].map((start) => expectedUtility(stepUtility(9, 10), pointDistribution(5), start))).toEqual([
      10, 0,
    ]);
  });
});
