import { expect, test } from 'vitest';
import { normalEstimates, normalParts } from './normal-estimates.js';

test('parts of equal probability have the mean and deviation of the whole', () => {
  const parts = normalParts(100, 10);
  const mean = parts.reduce((sum, { from, to, p }) => sum + (p * (from + to)) / 2, 0);
  const square = parts.reduce((sum, { from, to, p }) => sum + p * ((from + to) / 2 - mean) ** 2, 0);
  expect(parts.reduce((sum, { p }) => sum + p, 0)).toBeCloseTo(1, 9);
  expect(mean).toBeCloseTo(100, 0);
  expect(Math.sqrt(square)).toBeGreaterThan(9.5);
  expect(Math.sqrt(square)).toBeLessThan(10.5);
  for (const [at, { from, to }] of parts.entries()) expect(parts[at + 1]?.from ?? to).toBeGreaterThan(from);
});

test('negative run times are cut off', () => {
  const [first] = normalParts(10, 20);
  expect(first!.from).toBeCloseTo(0, 3);
});

test('estimates are off by the shift on average, reproducibly for each job', () => {
  const estimate = normalEstimates({ shift: 0.5, spread: 0, seed: 1 });
  const estimates = Array.from({ length: 400 }, (_, job) => estimate(job, 100).estimateMs);
  expect(estimates.reduce((sum, each) => sum + each, 0) / 400).toBeCloseTo(150, -1);
  expect(estimate(7, 100)).toEqual({ estimateMs: estimates[7] });
});
