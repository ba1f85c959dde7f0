import { expect, test } from 'vitest';
import { setLatest } from './latest.js';

test('a map keeps the most recently set keys, and setting a key again makes it recent', () => {
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

test('the size stays within the limit and near it, and only the oldest keys go', () => {
  const map = new Map<number, string>();
  for (let key = 0; key < 1_000; key++) {
    setLatest(map, key, 'value', 80);
    const kept = [...map.keys()];
    expect(kept.length).toBeLessThanOrEqual(80);
    expect(kept.length).toBeGreaterThanOrEqual(Math.min(key + 1, 70));
    expect(kept).toEqual(Array.from(kept, (_, index) => key + 1 - kept.length + index));
  }
});
