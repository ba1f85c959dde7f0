import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runHere } from '@goshawk/cli/testing';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

/** Names in the sources that users neither get as an output nor write by hand, with the reason. */
const INTERNAL: Readonly<Record<string, string>> = {
  'goshawk.introduction/1': 'is signed during the handshake, and is not JSON',
  'goshawk.keys/1': 'is a key file: secret, and written by `goshawk keygen` alone',
  'goshawk.value/1': 'answers the Python package, which alone uses the routes of large values',
  'goshawk.values/1': 'answers the Python package, which alone uses the routes of large values',
  'goshawk.values-job/1': 'answers the Python package, which alone uses the routes of large values',
  'goshawk.learnt/1': 'is the estimators’ state, which only schedulers write and read',
};

const sources = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\0')
  .filter(
    (path) =>
      /^packages\/(?:research\/)?[a-z]+\/src\/.*\.ts$/.test(path) && !/\.(test|fixture)\.ts$/.test(path),
  );

test('every format in the sources is published, or internal for a reason', async () => {
  const { stdout } = await runHere(['schema']);
  const published = stdout.trim().split('\n');
  const named = new Set(
    sources.flatMap((path) => readFileSync(join(ROOT, path), 'utf8').match(/goshawk\.[a-z-]+\/\d+/g) ?? []),
  );
  expect([...named].filter((name) => !published.includes(name) && !(name in INTERNAL))).toEqual([]);
  expect(Object.keys(INTERNAL).filter((name) => published.includes(name) || !named.has(name))).toEqual([]);
});
