import { expect, test } from 'vitest';
import { DecayingSum } from './decaying-sum.js';

test('values decay by a factor of e per window', () => {
  const sum = new DecayingSum(1_000);
  sum.add(10, 500);
  expect(sum.at(500)).toBe(10);
  expect(sum.at(1_500)).toBeCloseTo(10 / Math.E);
  sum.add(1, 2_500);
  expect(sum.at(2_500)).toBeCloseTo(10 / Math.E ** 2 + 1);
});

test('nothing decays without a window', () => {
  const sum = new DecayingSum(0);
  sum.add(10, 500);
  sum.add(1, 5_000);
  expect(sum.at(9_000)).toBe(11);
});
