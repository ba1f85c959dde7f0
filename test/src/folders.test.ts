import fs, { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { makeFolder } from '@goshawk/core';
import { afterAll, expect, test } from 'vitest';

const root = mkdtempSync(join(tmpdir(), 'goshawk-'));
afterAll(() => rmSync(root, { recursive: true }));

test.each([
  ['absolute', join(root, 'a/b/c')],
  ['relative', relative(process.cwd(), join(root, 'd/e'))],
  ['ends with a slash', `${join(root, 'f/g')}/`],
])('creates a folder and its ancestors, or finds it: %s', (_, path) => {
  for (const _ of ['made', 'found']) {
    makeFolder(fs, path, 0o700);
    for (const folder of [path, join(path, '..')]) expect(statSync(folder).mode & 0o777).toBe(0o700);
  }
});

test('reports why it cannot create a folder, and creates nothing below', () => {
  const file = join(root, 'file');
  writeFileSync(file, '');
  expect(() => makeFolder(fs, join(file, 'below'))).toThrow(/^ENOTDIR.*below'$/);
  expect(() => makeFolder(fs, file)).toThrow(/^EEXIST/);
});

test.runIf(existsSync('/proc/self'))('ends where the system lets nobody make a folder', () => {
  expect(() => makeFolder(fs, '/proc/x/y')).toThrow("ENOENT: no such file or directory, mkdir '/proc/x'");
});
