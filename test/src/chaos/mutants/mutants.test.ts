import { expect, test } from 'vitest';
import { planted } from './mutant.js';
import { MUTANTS } from './mutants.js';

test.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
  'the bug "%s" can still be planted',
  (_, mutant) => {
    expect(planted(mutant)).toContain(mutant.replace);
  },
);

test('there are at least ten, and no two are called the same', () => {
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  expect(MUTANTS.length).toBeGreaterThanOrEqual(10);
});
