import { expect, test } from 'vitest';
import { chanceOfRanks } from './chance.js';

/** Each choice of ranks for the others is as likely as any. */
function counted(ours: number, below: number): number {
  const all = ours + 3;
  let [outside, choices] = [0, 0];
  for (let first = 0; first < all; first++)
    for (let second = first + 1; second < all; second++)
      for (let third = second + 1; third < all; third++) {
        choices++;
        if (first >= below) outside++;
      }
  return outside / choices;
}

test('is the share of all orders in which so many of ours are outside', () => {
  for (const ours of [1, 5, 12]) {
    for (let below = 0; below <= ours; below++) {
      const expected = Math.min(1, 2 * counted(ours, below));
      expect(chanceOfRanks(ours, 3, { below, above: 0 })).toBeCloseTo(expected, 12);
      expect(chanceOfRanks(ours, 3, { below: 0, above: below })).toBeCloseTo(expected, 12);
    }
  }
});

test('all of ours outside are no chance, none outside says nothing', () => {
  expect(chanceOfRanks(12, 3, { below: 12, above: 0 })).toBeLessThan(0.01);
  expect(chanceOfRanks(12, 3, { below: 0, above: 0 })).toBe(1);
});
