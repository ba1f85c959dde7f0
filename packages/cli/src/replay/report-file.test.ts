import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InputError } from '@goshawk/core';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkReportFile, writeReportFile } from './report-file.js';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-report-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('writes the file whole, over an older one, and leaves nothing beside it', async () => {
  const file = join(folder, 'out.html');
  await writeFile(file, 'old');
  await checkReportFile(file);
  await writeReportFile(file, 'new');
  expect(await readFile(file, 'utf8')).toBe('new');
  expect(await readdir(folder)).toEqual(['out.html']);
});

it('knows before a run that nothing can be written there', async () => {
  await expect(checkReportFile(join(folder, 'missing', 'out.html'))).rejects.toThrow(InputError);
  await mkdir(join(folder, 'out.html'));
  await expect(checkReportFile(join(folder, 'out.html'))).rejects.toThrow('is a folder');
});

it('leaves nothing behind when it fails', async () => {
  await mkdir(join(folder, 'out.html'));
  await expect(writeReportFile(join(folder, 'out.html'), 'new')).rejects.toThrow('cannot write');
  expect(await readdir(folder)).toEqual(['out.html']);
});
