import { describe, expect, test } from 'vitest';
import { hunt } from './hunting.js';
import { MUTANTS } from './mutants.js';

/** Other draws may move a finding to a later seed. */
const SEEDS = 60;

describe('chaos or a unit test finds the planted bug', () => {
  const known = MUTANTS.filter(({ seed, test }) => seed !== undefined || test !== undefined);
  test.each(known.map((mutant) => [mutant.name, mutant] as const))('%s', async (_, mutant) => {
    expect(await hunt(mutant, SEEDS, mutant.seed)).toBeDefined();
  });
});
