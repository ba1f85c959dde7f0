import fc from 'fast-check';
import { expect, test } from 'vitest';
import { QueryBudget } from './query-budget.js';

test('the budget allows a hundred thousand jobs at once, and 300 per millisecond', () => {
  const budget = new QueryBudget();
  expect(budget.waitMs('a', 0)).toBe(0);
  budget.charge('a', 130_000);
  expect(budget.waitMs('a', 0)).toBe(101);
  expect(budget.waitMs('a', 100)).toBe(1);
  expect(budget.waitMs('a', 101)).toBe(0);
  budget.charge('a', 10_000);
  expect(budget.waitMs('a', 1e9)).toBe(0);
  budget.charge('a', 100_000);
  expect(budget.waitMs('a', 1e9)).toBe(1);
});

test('a client that keeps to its share is never refused, whatever others do', () => {
  const clients = ['b', 'c', 'd', 'e'];
  const asked = fc.record({ afterMs: fc.nat(50), by: fc.constantFrom(...clients), jobs: fc.nat(100_000) });
  fc.assert(
    fc.property(fc.array(asked, { maxLength: 500 }), (queries) => {
      const budget = new QueryBudget();
      let now = 0;
      let modestAt = 0;
      for (const { afterMs, by, jobs } of queries) {
        now += afterMs;
        if (budget.waitMs(by, now) === 0) budget.charge(by, jobs);
        // At most the fifth part of the rate.
        if (now - modestAt < 1_000) continue;
        expect(budget.waitMs('modest', now)).toBe(0);
        budget.charge('modest', 60_000);
        modestAt = now;
      }
    }),
  );
});

test('all clients together examine at most what the rate allows, and a burst each', () => {
  const budget = new QueryBudget();
  let examined = 0;
  for (let now = 0; now < 10_000; now++) {
    for (const client of ['a', 'b', 'c']) {
      if (budget.waitMs(client, now) > 0) continue;
      budget.charge(client, 12_000);
      examined += 12_000;
    }
  }
  expect(examined).toBeGreaterThan(3_000_000);
  expect(examined).toBeLessThan(3_000_000 + 3 * 112_000);
});
