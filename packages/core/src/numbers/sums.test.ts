import { expect, test } from 'vitest';
import { meanOf, sumOf } from './sums.js';

test('sums and means accept numbers, or items with a selector', () => {
  const jobs = [{ tasks: 1 }, { tasks: 3 }];
  expect(sumOf([1, 2, 3])).toBe(6);
  expect(sumOf(Float64Array.of(0.5, 0.25))).toBe(0.75);
  expect(sumOf(jobs, ({ tasks }) => tasks)).toBe(4);
  expect(sumOf(jobs, ({ tasks }, place) => tasks * place)).toBe(3);
  expect(meanOf(jobs, ({ tasks }) => tasks)).toBe(2);
  expect(sumOf([])).toBe(0);
  expect(meanOf([])).toBeNaN();
});

test('sums are computed from first to last', () => {
  expect(sumOf([1e16, 1, 1])).toBe(1e16);
  expect(sumOf([1, 1, 1e16])).toBe(1e16 + 2);
});
