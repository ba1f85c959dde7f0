import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { combine, type LogEstimate, posterior } from './posterior.js';

const estimate: fc.Arbitrary<LogEstimate> = fc.record({
  meanMs: fc.double({ min: 1, max: 1e8, noNaN: true }),
  logVariance: fc.double({ min: -1, max: 10, noNaN: true }),
});

test('the posterior lies between its two estimates, in either order', () => {
  fc.assert(
    fc.property(estimate, estimate, (one, other) => {
      const both = posterior(one, other);
      expect(both).toBeGreaterThanOrEqual(Math.min(one.meanMs, other.meanMs) * 0.999_999);
      expect(both).toBeLessThanOrEqual(Math.max(one.meanMs, other.meanMs) * 1.000_001);
      expect(posterior(other, one)).toBeCloseTo(both, 0);
    }),
  );
});

test('the posterior weights each estimate by its inverse variance', () => {
  const at = (logVariance: number) =>
    posterior({ meanMs: 100, logVariance: 1 }, { meanMs: 10_000, logVariance });
  expect(at(1)).toBeCloseTo(1_000, 6);
  expect(at(3)).toBeCloseTo(100 * 100 ** (1 / 4), 6);
  expect(at(0)).toBeCloseTo(10_000, 0);
});

const ms = fc.double({ min: 1, max: 1e8, noNaN: true });
const variance = fc.double({ min: 0, max: 10, noNaN: true });

describe('pilots and history combined', () => {
  test('lie between the two estimates', () => {
    fc.assert(
      fc.property(
        ms,
        fc.integer({ min: 1, max: 50 }),
        ms,
        variance,
        variance,
        (pilotsMs, pilots, meanMs, logVariance, taskSpread) => {
          const both = combine(pilotsMs, pilots, { meanMs, logVariance, taskSpread });
          expect(both).toBeGreaterThanOrEqual(Math.min(pilotsMs, meanMs) * 0.999_999);
          expect(both).toBeLessThanOrEqual(Math.max(pilotsMs, meanMs) * 1.000_001);
        },
      ),
    );
  });

  test('are weighted by inverse variance', () => {
    // They disagree by a factor of e; history has variance 1, and the pilots that of the tasks.
    const prior = { meanMs: 1_000 * Math.E, logVariance: 0.5, taskSpread: 1 };
    expect(combine(1_000, 1, prior)).toBeCloseTo(1_000 * Math.exp(1 / 2), 6);
    expect(combine(1_000, 3, prior)).toBeCloseTo(1_000 * Math.exp(1 / 4), 6);
  });

  test('barely follow a history that the pilots contradict, however accurate it was before', () => {
    const sure = { logVariance: 0, taskSpread: 0.01 };
    const near = combine(1_000, 1, { ...sure, meanMs: 1_100 });
    expect(near).toBeGreaterThan(1_040);
    const far = combine(1_000, 1, { ...sure, meanMs: 100_000 });
    expect(far).toBeLessThan(1_003);
  });

  test('accept run times of 0 ms', () => {
    expect(combine(0, 1, { meanMs: 0, logVariance: 0, taskSpread: 0 })).toBe(1);
  });
});
