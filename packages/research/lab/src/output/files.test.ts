import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InputError } from '@goshawk/core';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkOutFolder, outputFiles, writeReportFile, writeTogether } from './files.js';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-files-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const check = (report: string, workload: string) => outputFiles(folder, workload, { report }, ['report']);

it('replaces an older file by the whole new one and leaves nothing else', async () => {
  const file = join(folder, 'out.html');
  await writeFile(file, 'old');
  await check(file, 'google-like');
  await writeReportFile(file, 'new');
  expect(await readFile(file, 'utf8')).toBe('new');
  expect(await readdir(folder)).toEqual(['out.html']);
});

it('rejects an unwritable path before a run', async () => {
  await expect(check(join(folder, 'missing', 'out.html'), 'google-like')).rejects.toThrow(InputError);
  await mkdir(join(folder, 'out.html'));
  await expect(check(join(folder, 'out.html'), 'google-like')).rejects.toThrow('is a folder');
});

it('replaces neither a device nor the workload', async () => {
  await expect(check('/dev/null', 'google-like')).rejects.toThrow('is not a regular file');
  const trace = join(folder, 'jobs.tr');
  await writeFile(trace, '0 1 1 1');
  await symlink(trace, join(folder, 'link'));
  await expect(check(join(folder, 'link'), trace)).rejects.toThrow('is the input workload');
  await check(trace, 'google-like');
});

it('rejects two outputs to one file under different names', async () => {
  const names = ['report', 'saveResults', 'saveJobs'] as const;
  const of = (report: string, saveResults: string, saveJobs?: string) =>
    outputFiles(folder, 'google-like', { report, saveResults, saveJobs }, names);
  expect(await of('a', 'b')).toEqual({ report: join(folder, 'a'), saveResults: join(folder, 'b') });
  await expect(of('a', './a')).rejects.toThrow(
    `--report and --save-results: both write to ${join(folder, 'a')}`,
  );
  await expect(of('a', 'b', 'b')).rejects.toThrow('--save-results and --save-jobs: both write to');
  await symlink(folder, join(folder, 'again'));
  await expect(of('a', 'again/a')).rejects.toThrow('both write to');
  await writeFile(join(folder, 'old'), '');
  await symlink(join(folder, 'old'), join(folder, 'link'));
  await expect(of('old', 'link')).rejects.toThrow('both write to');
});

it('keeps the old file if it is stopped', async () => {
  const file = join(folder, 'out.html');
  await writeFile(file, 'old');
  await expect(writeReportFile(file, 'new', AbortSignal.abort())).rejects.toThrow('cannot write');
  expect(await readFile(file, 'utf8')).toBe('old');
  expect(await readdir(folder)).toEqual(['out.html']);
});

it('leaves nothing behind if it fails', async () => {
  await mkdir(join(folder, 'out.html'));
  await expect(writeReportFile(join(folder, 'out.html'), 'new')).rejects.toThrow('cannot write');
  expect(await readdir(folder)).toEqual(['out.html']);
});

it('creates the folder, replaces all files by whole ones and leaves nothing else', async () => {
  const out = join(folder, 'a/b');
  await checkOutFolder(out, ['x', 'y']);
  expect(await readdir(folder)).toEqual([]);
  await writeTogether(out, { x: 'old' });
  await writeTogether(out, { x: 'new', y: 'first' });
  expect((await readdir(out)).sort()).toEqual(['x', 'y']);
  expect(await readFile(join(out, 'x'), 'utf8')).toBe('new');
});

it('keeps all older files if one of the new ones cannot be written', async () => {
  await writeTogether(folder, { x: 'old' });
  // This folder prevents the partial file of y from being created.
  await mkdir(join(folder, `y.partial-${process.pid}`));
  await expect(writeTogether(folder, { x: 'new', y: 'first' })).rejects.toThrow('cannot write to');
  expect(await readFile(join(folder, 'x'), 'utf8')).toBe('old');
  expect((await readdir(folder)).filter((name) => !name.includes('partial'))).toEqual(['x']);
});

it('rejects unwritable files before any run', async () => {
  await writeFile(join(folder, 'file'), '');
  await mkdir(join(folder, 'x'));
  await expect(checkOutFolder(join(folder, 'file'), [])).rejects.toThrow('is not a folder');
  await expect(checkOutFolder(join(folder, 'file/deeper/still'), [])).rejects.toThrow('is not a folder');
  await expect(checkOutFolder(folder, ['x'])).rejects.toThrow('is not a regular file');
});
