import { expect, test } from 'vitest';
import { slicesOf } from './slices.js';

test('a list is split into full parts and a rest', () => {
  expect([...slicesOf([1, 2, 3, 4, 5], 2)]).toEqual([[1, 2], [3, 4], [5]]);
  expect([...slicesOf([1, 2], 2)]).toEqual([[1, 2]]);
  expect([...slicesOf([], 2)]).toEqual([]);
});
