import { expect, test } from 'vitest';
import { Random } from '../numbers/random.js';
import { OrderedNumbers } from './ordered-numbers.js';

/** @param range of the numbers: a small one gives many duplicates */
function compareWithArray(seed: number, steps: number, range: number): void {
  const random = Random.seeded(seed);
  const set = new OrderedNumbers();
  let sorted: number[] = [];
  for (let step = 0; step < steps; step++) {
    // Grows for the first half, then shrinks, so that chunks are split and merged.
    const isAdding = random.next() < (step < steps / 2 ? 0.7 : 0.3);
    const rises = random.next() < 0.2;
    const number = rises ? range + step : Math.floor(random.next() * range) / 4;
    const isThere = sorted.includes(number);
    if (isAdding) {
      expect(set.add(number)).toBe(!isThere);
      if (!isThere) sorted = [...sorted, number].sort((a, b) => a - b);
    } else {
      const chosen =
        random.next() < 0.8 ? (sorted[Math.floor(random.next() * sorted.length)] ?? number) : number;
      expect(set.delete(chosen)).toBe(sorted.includes(chosen));
      sorted = sorted.filter((other) => other !== chosen);
    }
    const bound = random.next() < 0.5 ? number : Math.floor(random.next() * range);
    expect(set.atMost(bound)).toBe(sorted.findLast((other) => other <= bound) ?? Number.NaN);
    expect(set.atLeast(bound)).toBe(sorted.find((other) => other >= bound) ?? Number.NaN);
    expect(set.has(bound)).toBe(sorted.includes(bound));
    expect(set.first()).toBe(sorted[0] ?? Number.NaN);
    expect(set.size).toBe(sorted.length);
  }
  expect([...set]).toEqual(sorted);
}

test.each([1, 2, 3, 4])('behaves like a sorted array: seed %i', (seed) => {
  compareWithArray(seed, 3000, seed % 2 === 0 ? 400 : 100_000);
});
