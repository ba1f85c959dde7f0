import { expect, test } from 'vitest';
import { Looks } from './query-budget.js';

test('there is time for a million jobs at once, and for a thousand in each millisecond', () => {
  const looks = new Looks();
  expect(looks.waitMs(0)).toBe(0);
  looks.took(1_200_000);
  expect(looks.waitMs(0)).toBe(201);
  expect(looks.waitMs(200)).toBe(1);
  expect(looks.waitMs(201)).toBe(0);
  looks.took(100_000);
  expect(looks.waitMs(1e9)).toBe(0);
  looks.took(1_000_000);
  expect(looks.waitMs(1e9)).toBe(1);
});
