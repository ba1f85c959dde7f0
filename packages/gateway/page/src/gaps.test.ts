import { expect, it } from 'vitest';
import { bridged, isolated } from './gaps.js';

it('bridges a few missing points, and leaves longer gaps', () => {
  expect(bridged([1, null, 2])).toEqual([1, undefined, 2]);
  expect(bridged([1, ...Array(7).fill(null), 2])).toEqual([1, ...Array(7).fill(null), 2]);
});

it('finds points that no line would show', () => {
  expect(isolated([5])).toEqual([0]);
  expect(isolated([null, 5, null, 6, 7, null, 8])).toEqual([1, 6]);
  expect(isolated([1, undefined, 2])).toEqual([]);
  expect(isolated([])).toEqual([]);
});
