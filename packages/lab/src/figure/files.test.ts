import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkOutFolder, writeTogether } from './files.js';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-files-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('makes the folder, writes all files whole, over older ones, and leaves nothing beside them', async () => {
  const out = join(folder, 'a/b');
  await checkOutFolder(out, ['x', 'y']);
  expect(await readdir(folder)).toEqual([]);
  await writeTogether(out, { x: 'old' });
  await writeTogether(out, { x: 'new', y: 'first' });
  expect((await readdir(out)).sort()).toEqual(['x', 'y']);
  expect(await readFile(join(out, 'x'), 'utf8')).toBe('new');
});

it('shows none of the files, and keeps the older ones, when one of them cannot be written', async () => {
  await writeTogether(folder, { x: 'old' });
  // The partial file of y cannot be made.
  await mkdir(join(folder, `y.partial-${process.pid}`));
  await expect(writeTogether(folder, { x: 'new', y: 'first' })).rejects.toThrow('cannot write to');
  expect(await readFile(join(folder, 'x'), 'utf8')).toBe('old');
  expect((await readdir(folder)).filter((name) => !name.includes('partial'))).toEqual(['x']);
});

it('knows before anything is run that files cannot be written', async () => {
  await writeFile(join(folder, 'file'), '');
  await mkdir(join(folder, 'x'));
  await expect(checkOutFolder(join(folder, 'file'), [])).rejects.toThrow('is no folder');
  await expect(checkOutFolder(join(folder, 'file/deeper/still'), [])).rejects.toThrow('is no folder');
  await expect(checkOutFolder(folder, ['x'])).rejects.toThrow('is no ordinary file');
});
