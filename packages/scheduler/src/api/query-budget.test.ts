import { expect, test } from 'vitest';
import { QueryBudget } from './query-budget.js';

test('the budget allows a million jobs at once, and a thousand per millisecond', () => {
  const budget = new QueryBudget();
  expect(budget.waitMs(0)).toBe(0);
  budget.charge(1_200_000);
  expect(budget.waitMs(0)).toBe(201);
  expect(budget.waitMs(200)).toBe(1);
  expect(budget.waitMs(201)).toBe(0);
  budget.charge(100_000);
  expect(budget.waitMs(1e9)).toBe(0);
  budget.charge(1_000_000);
  expect(budget.waitMs(1e9)).toBe(1);
});
