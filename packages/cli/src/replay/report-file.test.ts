import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
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
  await checkReportFile(file, 'google-like');
  await writeReportFile(file, 'new');
  expect(await readFile(file, 'utf8')).toBe('new');
  expect(await readdir(folder)).toEqual(['out.html']);
});

it('knows before a run that nothing can be written there', async () => {
  await expect(checkReportFile(join(folder, 'missing', 'out.html'), 'google-like')).rejects.toThrow(
    InputError,
  );
  await mkdir(join(folder, 'out.html'));
  await expect(checkReportFile(join(folder, 'out.html'), 'google-like')).rejects.toThrow('is a folder');
});

it('replaces neither a device nor the workload', async () => {
  await expect(checkReportFile('/dev/null', 'google-like')).rejects.toThrow('is no ordinary file');
  const trace = join(folder, 'jobs.tr');
  await writeFile(trace, '0 1 1 1');
  await symlink(trace, join(folder, 'link'));
  await expect(checkReportFile(join(folder, 'link'), trace)).rejects.toThrow('is the workload itself');
  await checkReportFile(trace, 'google-like');
});

it('leaves what was there when it is stopped', async () => {
  const file = join(folder, 'out.html');
  await writeFile(file, 'old');
  await expect(writeReportFile(file, 'new', AbortSignal.abort())).rejects.toThrow('cannot write');
  expect(await readFile(file, 'utf8')).toBe('old');
  expect(await readdir(folder)).toEqual(['out.html']);
});

it('leaves nothing behind when it fails', async () => {
  await mkdir(join(folder, 'out.html'));
  await expect(writeReportFile(join(folder, 'out.html'), 'new')).rejects.toThrow('cannot write');
  expect(await readdir(folder)).toEqual(['out.html']);
});
