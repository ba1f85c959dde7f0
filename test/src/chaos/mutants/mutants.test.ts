import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { planted } from './mutant.js';
import { MUTANTS } from './mutants.js';

/** Reads modules by name, and writes the errors of those that cannot be parsed. */
const PARSE = `
  const { SourceTextModule } = require('node:vm');
  const errors = {};
  for (const [name, code] of Object.entries(JSON.parse(require('node:fs').readFileSync(0, 'utf8'))))
    try { new SourceTextModule(code); } catch (error) { errors[name] = error.message; }
  console.log(JSON.stringify(errors));`;

test.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
  'the bug "%s" can still be planted',
  (_, mutant) => {
    expect(planted(mutant)).toContain(mutant.replace);
  },
);

// A name that the file no longer declares is seen only when it is parsed.
test('files with bugs can be parsed', () => {
  const built = MUTANTS.filter(({ test }) => test === undefined);
  const input = JSON.stringify(Object.fromEntries(built.map((mutant) => [mutant.name, planted(mutant)])));
  const argv = ['--experimental-vm-modules', '--no-warnings', '-e', PARSE];
  const { stdout, stderr } = spawnSync(process.execPath, argv, { input, encoding: 'utf8' });
  expect(JSON.parse(stdout || '{}'), stderr).toEqual({});
  expect(stdout, stderr).not.toBe('');
  expect(built.length).toBeGreaterThanOrEqual(10);
});

test('at least ten exist, with unique names', () => {
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  expect(MUTANTS.length).toBeGreaterThanOrEqual(10);
});
