import { expect, test } from 'vitest';
import { setLatest } from './latest.js';

test('a map keeps the latest that were set, and what is set again is the latest', () => {
  const map = new Map<string, number>();
  for (const [key, value] of [
    ['a', 1],
    ['b', 2],
    ['a', 3],
    ['c', 4],
  ] as const)
    setLatest(map, key, value, 2);
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ]);
});
