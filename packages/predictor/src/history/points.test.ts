import { expect, test } from 'vitest';
import { inverseSquareEstimate } from './points.js';

test('the estimate of an atom is the atom', () => {
  expect(inverseSquareEstimate([{ from: 500, to: 500, p: 1 }])).toBeCloseTo(500, 9);
});

test('of several run times it leans to the shortest', () => {
  const half = [
    { from: 100, to: 100, p: 0.5 },
    { from: 10_000, to: 10_000, p: 0.5 },
  ];
  expect(inverseSquareEstimate(half)).toBeCloseTo(141.4, 1);
});

test('a piece counts as the integral over it', () => {
  let sum = 0;
  for (let i = 0; i < 100_000; i++) sum += (100 + (i + 0.5) / 100) ** -2 / 100_000;
  expect(inverseSquareEstimate([{ from: 100, to: 1_100, p: 1 }])).toBeCloseTo(1 / Math.sqrt(sum), 3);
});

test('of nothing it is nothing', () => {
  expect(inverseSquareEstimate([])).toBeNaN();
});
