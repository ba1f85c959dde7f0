import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
/** Scripts of the repository that have options, or must not start if they are asked for help. */
const SCRIPTS = [
  'bench/run.mjs',
  'bench/run.mjs hops',
  'scripts/compose-check.mjs',
  'scripts/monitoring-check.mjs',
  'scripts/release.mjs',
  'test/dist/chaos/main.js',
  'test/dist/chaos/mutants/main.js',
  'test/dist/kubernetes/lab/main.js',
];

describe.each(SCRIPTS)('%s', (script) => {
  const run = (option: string) =>
    spawnSync(process.execPath, [...script.split(' '), option], { cwd: ROOT, encoding: 'utf8' });

  it('prints help', () => {
    const { status, stdout, stderr } = run('--help');
    expect(`${stdout}${stderr}`).toMatch(/npm run |node scripts|^options:/);
    expect(status).toBe(0);
  });

  it('rejects an unknown option without a stack trace', () => {
    const { status, stdout, stderr } = run('--no-such-option');
    expect(stderr).toMatch(/^Unknown option '--no-such-option'/);
    expect(stderr).not.toContain('    at ');
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  });
});
