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

test('never more than so many are kept, and always most of the latest', () => {
  const map = new Map<number, string>();
  for (let key = 0; key < 1_000; key++) {
    setLatest(map, key, 'value', 80);
    const kept = [...map.keys()];
    expect(kept.length).toBeLessThanOrEqual(80);
    expect(kept.length).toBeGreaterThanOrEqual(Math.min(key + 1, 70));
    expect(kept).toEqual(Array.from(kept, (_, index) => key + 1 - kept.length + index));
  }
});
