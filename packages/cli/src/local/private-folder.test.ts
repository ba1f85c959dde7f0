import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { privateTemporaryFolder } from './private-folder.js';

const NAME = `goshawk-${process.getuid?.() ?? 0}`;
let parent = '';

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'goshawk-private-'));
});

afterEach(() => rmSync(parent, { recursive: true }));

test('the folder is private, and is found again', () => {
  const folder = privateTemporaryFolder(parent);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(privateTemporaryFolder(parent)).toBe(folder);
});

test('a link, and a folder that other users can write to, are rejected', () => {
  mkdirSync(join(parent, 'theirs'));
  symlinkSync(join(parent, 'theirs'), join(parent, NAME));
  expect(() => privateTemporaryFolder(parent)).toThrow('is not a folder that only this user can write to');
  rmSync(join(parent, NAME));
  mkdirSync(join(parent, NAME));
  chmodSync(join(parent, NAME), 0o777);
  expect(() => privateTemporaryFolder(parent)).toThrow('is not a folder that only this user can write to');
});

test('a file is rejected', () => {
  writeFileSync(join(parent, NAME), '');
  expect(() => privateTemporaryFolder(parent)).toThrow();
});
