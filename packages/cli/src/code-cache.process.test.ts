import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { GOSHAWK } from './daemons.fixture.js';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'goshawk-code-cache-'));
});
afterEach(() => rmSync(home, { recursive: true }));

function version(environment: NodeJS.ProcessEnv): string {
  const { NODE_COMPILE_CACHE: _, XDG_CACHE_HOME: __, ...inherited } = process.env;
  const env = { ...inherited, HOME: home, ...environment };
  return execFileSync(process.execPath, [GOSHAWK, '--version'], { env, encoding: 'utf8' });
}

function cached(): Map<string, Buffer> {
  const folder = join(home, '.cache/goshawk', `${process.version}-${process.arch}`);
  return new Map(
    readdirSync(folder).map((name) => [join(folder, name), readFileSync(join(folder, name))] as const),
  );
}

it('the second call uses the code that the first one compiled', () => {
  const first = version({});
  const stored = cached();
  expect(stored.size).toBeGreaterThan(0);
  expect(version({})).toBe(first);
  expect(cached()).toEqual(stored);
});

it('damaged code is compiled again', () => {
  const first = version({});
  const [[file, code]] = [...cached()] as [[string, Buffer]];
  writeFileSync(file, code.subarray(0, 100));
  expect(version({})).toBe(first);
  expect(readFileSync(file).length).toBeGreaterThan(1_000);
});

it('a call without a folder for caches works', () => {
  const expected = version({ HOME: '' });
  writeFileSync(join(home, 'file'), '');
  expect(version({ XDG_CACHE_HOME: join(home, 'file') })).toBe(expected);
  expect(existsSync(join(home, '.cache'))).toBe(false);
});

// Reason: only root can give a folder to another user.
it.runIf(process.getuid?.() === 0)(
  'a call as root creates nothing in the home folder of another user',
  () => {
    chownSync(home, 65_534, 65_534);
    version({});
    expect(readdirSync(home)).toEqual([]);
  },
);

// Reason: only root can give a folder to another user.
it.runIf(process.getuid?.() === 0).each(['folder', 'version', 'file'] as const)(
  'a call ignores and keeps code of another user: its %s',
  (what) => {
    const caches = join(home, '.cache/goshawk');
    version({});
    const [[file]] = [...cached()] as [[string, Buffer]];
    const path = { folder: caches, version: dirname(file), file }[what];
    const planted = Buffer.from('planted');
    writeFileSync(file, planted);
    chownSync(path, 65_534, 65_534);
    expect(version({})).toMatch(/\d/);
    if (what !== 'file') expect(readFileSync(file)).toEqual(planted);
    expect(readdirSync(join(home, '.cache'))).toEqual(['goshawk']);
  },
);

it.each([0o777, 0o1777, 0o775])('a call uses no cache in a folder of mode %o', (mode) => {
  const caches = join(home, '.cache/goshawk');
  mkdirSync(caches, { recursive: true });
  // A group of others.
  if (mode === 0o775 && process.getuid?.() === 0) chownSync(caches, 0, 65_534);
  chmodSync(caches, mode);
  version({});
  expect(readdirSync(caches)).toEqual([]);
});
