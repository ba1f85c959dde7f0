import { Random } from '@goshawk/core';
import { expect, test } from 'vitest';
import { NumberPages, PAGE } from './number-pages.js';

test.each([true, false])('holds any numbers at any indices, packed or not (wide: %s)', (isWide) => {
  const random = Random.seeded(`pages ${isWide}`);
  const below = (limit: number) => Math.floor(random.next() * limit);
  const pages = new NumberPages(isWide);
  const known = new Map<number, number>();
  for (let turn = 0; turn < 20_000; turn++) {
    const index = below(4 * PAGE);
    const isFar = below(50) === 0;
    const number = isFar ? below(isWide ? 2 ** 50 : 2 ** 32) : 1_000_000 + index + below(1_000);
    pages.set(index, number);
    known.set(index, number);
    if (below(100) === 0) pages.pack(below(5 * PAGE));
  }
  for (let index = 0; index < 5 * PAGE; index++) expect(pages.get(index)).toBe(known.get(index) ?? 0);
});

test('numbers of a packed page that are far apart keep their values', () => {
  const pages = new NumberPages(true);
  const numbers = [7, 2 ** 52, 7 + 2 ** 16 - 2];
  numbers.forEach((number, index) => void pages.set(index, number));
  pages.pack(0);
  expect(numbers.map((_, index) => pages.get(index))).toEqual(numbers);
  pages.set(1, 8);
  pages.pack(0);
  expect([0, 1, 2, 3].map((index) => pages.get(index))).toEqual([7, 8, 7 + 2 ** 16 - 2, 0]);
});
