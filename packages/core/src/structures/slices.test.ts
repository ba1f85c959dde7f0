import { expect, test } from 'vitest';
import { firstIndex, slicesOf } from './slices.js';

test('a list is split into full parts and a rest', () => {
  expect([...slicesOf([1, 2, 3, 4, 5], 2)]).toEqual([[1, 2], [3, 4], [5]]);
  expect([...slicesOf([1, 2], 2)]).toEqual([[1, 2]]);
  expect([...slicesOf([], 2)]).toEqual([]);
});

test('the first index that qualifies is found in a list of any length', () => {
  for (let length = 0; length < 40; length++)
    for (let first = 0; first <= length; first++)
      expect(firstIndex(length, (index) => index >= first)).toBe(first);
});
