import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { planted } from './mutant.js';
import { MUTANTS } from './mutants.js';

test.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
  'the bug "%s" can still be planted',
  (_, mutant) => {
    const input = planted(mutant);
    expect(input).toContain(mutant.replace);
    if (mutant.test !== undefined) return;
    // A name that the file no longer declares is seen only when it is parsed.
    const argv = ['--check', '--input-type=module', '-'];
    const { status, stderr } = spawnSync(process.execPath, argv, { input, encoding: 'utf8' });
    expect(status, stderr).toBe(0);
  },
);

test('at least ten exist, with unique names', () => {
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  expect(MUTANTS.length).toBeGreaterThanOrEqual(10);
});
