import { expect, it } from 'vitest';
import { bridged, isolated, withGaps } from './gaps.js';

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

it('joins no points that are far apart, whatever was known before and after', () => {
  const near = [
    [0, 10, 130, 250],
    [1, undefined, 2, 3],
  ] as (number | null | undefined)[][];
  expect(withGaps(near as never)).toBe(near);
  const far = [
    [0, 10, 600, 720, 9_000],
    [1, 2, 3, undefined, 4],
    [null, 5, 6, 7, 8],
  ] as never;
  expect(withGaps(far)).toEqual([
    [0, 10, 11, 600, 720, 721, 9_000],
    [1, 2, null, 3, undefined, null, 4],
    [null, 5, null, 6, 7, null, 8],
  ]);
  expect(withGaps([[], []])).toEqual([[], []]);
});
