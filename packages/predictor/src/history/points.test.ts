import { expect, test } from 'vitest';
import { inverseSquareEstimate } from './points.js';

test('the estimate of a single run time is that run time', () => {
  expect(inverseSquareEstimate([{ from: 500, to: 500, p: 1 }])).toBeCloseTo(500, 9);
});

test('the estimate is close to the shortest of several run times', () => {
  const half = [
    { from: 100, to: 100, p: 0.5 },
    { from: 10_000, to: 10_000, p: 0.5 },
  ];
  expect(inverseSquareEstimate(half)).toBeCloseTo(141.4, 1);
});

test('the estimate integrates over a segment', () => {
  let sum = 0;
  for (let i = 0; i < 100_000; i++) sum += (100 + (i + 0.5) / 100) ** -2 / 100_000;
  expect(inverseSquareEstimate([{ from: 100, to: 1_100, p: 1 }])).toBeCloseTo(1 / Math.sqrt(sum), 3);
});

test('the estimate of an empty distribution is NaN', () => {
  expect(inverseSquareEstimate([])).toBeNaN();
});
