import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Belief, posterior } from './posterior.js';

const belief: fc.Arbitrary<Belief> = fc.record({
  meanMs: fc.double({ min: 1, max: 1e8, noNaN: true }),
  logVariance: fc.double({ min: -1, max: 10, noNaN: true }),
});

test('lies between the two, whichever is named first', () => {
  fc.assert(
    fc.property(belief, belief, (one, other) => {
      const both = posterior(one, other);
      expect(both).toBeGreaterThanOrEqual(Math.min(one.meanMs, other.meanMs) * 0.999_999);
      expect(both).toBeLessThanOrEqual(Math.max(one.meanMs, other.meanMs) * 1.000_001);
      expect(posterior(other, one)).toBeCloseTo(both, 0);
    }),
  );
});

test('each counts by the inverse of its variance', () => {
  const at = (logVariance: number) =>
    posterior({ meanMs: 100, logVariance: 1 }, { meanMs: 10_000, logVariance });
  expect(at(1)).toBeCloseTo(1_000, 6);
  expect(at(3)).toBeCloseTo(100 * 100 ** (1 / 4), 6);
  expect(at(0)).toBeCloseTo(10_000, 0);
});
