import { expect, test } from 'vitest';
import { inTurns } from './rounds.js';

test('each variant is measured once per round, and each round begins with another one', async () => {
  const order: string[] = [];
  const measured = await inTurns(['a', 'b', 'c'], 2, (way, round) => order.push(`${way}${round}`));
  expect(order).toEqual(['a0', 'b0', 'c0', 'b1', 'c1', 'a1']);
  expect([...measured]).toEqual([
    ['a', [1, 6]],
    ['b', [2, 4]],
    ['c', [3, 5]],
  ]);
});
