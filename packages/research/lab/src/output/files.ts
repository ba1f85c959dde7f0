import fs from 'node:fs';
import { access, constants, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { type Context, flagOf } from '@goshawk/command';
import { GoshawkError, InputError, makeFolder } from '@goshawk/core';
import type { JobRow } from '@goshawk/report';

/**
 * Checks the output files of a run before it starts. An existing file will be replaced.
 *
 * @param workload must not be overwritten
 * @param names of the options that name the files
 * @returns absolute paths by option
 * @throws InputError if a file cannot be written, or two options name the same file
 */
export async function outputFiles<Name extends string>(
  cwd: string,
  workload: string,
  options: Readonly<Record<Name, string | undefined>>,
  names: readonly Name[],
): Promise<Readonly<Partial<Record<Name, string>>>> {
  const files: Partial<Record<Name, string>> = {};
  const taken = new Map<string, string>();
  for (const name of names) {
    const given = options[name];
    if (given === undefined) continue;
    const file = resolve(cwd, given);
    const option = flagOf(name);
    await checkFile(file, workload, option);
    const identity = await identityOf(file);
    const other = taken.get(identity);
    if (other !== undefined) {
      throw new InputError('bad-option', `${other} and ${option}: both write to ${file}`, 'use two files');
    }
    taken.set(identity, option);
    files[name] = file;
  }
  return files;
}

/** Returns the same text for all paths of one file, even if the file does not exist yet. */
async function identityOf(file: string): Promise<string> {
  const there = await stat(file).catch(() => undefined);
  if (there !== undefined) return `${there.dev}/${there.ino}`;
  return join(await realpath(dirname(file)), basename(file));
}

async function checkFile(file: string, workload: string, option: string): Promise<void> {
  const folder = dirname(file);
  try {
    await access(folder, constants.W_OK);
  } catch (error) {
    throw new InputError(
      'bad-option',
      `${option}: ${folder} is not a writable folder (${(error as NodeJS.ErrnoException).code})`,
      'choose a file in a writable folder',
      { cause: error },
    );
  }
  const there = await stat(file).catch(() => undefined);
  if (there?.isDirectory()) {
    throw new InputError('bad-option', `${option}: ${file} is a folder`, 'use a file name');
  }
  // A regular file may be replaced, but not a device.
  if (there !== undefined && !there.isFile()) {
    throw new InputError('bad-option', `${option}: ${file} is not a regular file`, 'use another file');
  }
  const source = await stat(workload).catch(() => undefined);
  if (there !== undefined && source?.ino === there.ino && source.dev === there.dev) {
    throw new InputError('bad-option', `${option}: ${file} is the input workload`, 'use another file');
  }
}

/**
 * Checks an output folder before the runs start. A missing folder is created with the first output, and
 * existing files are replaced.
 *
 * @param names of the files
 * @param option that names the folder
 * @throws InputError if they cannot be written there
 */
export async function checkOutFolder(
  folder: string,
  names: readonly string[],
  option = '--out',
): Promise<void> {
  await checkWritable(folder, option);
  for (const name of names) {
    const there = await stat(join(folder, name)).catch(() => undefined);
    if (there === undefined || there.isFile()) continue;
    throw new InputError(
      'bad-option',
      `${option}: ${join(folder, name)} is not a regular file`,
      'use another folder',
    );
  }
}

async function checkWritable(folder: string, option: string): Promise<void> {
  const there = await stat(folder).catch(() => undefined);
  if (there === undefined && dirname(folder) !== folder) return checkWritable(dirname(folder), option);
  if (there !== undefined && !there.isDirectory()) {
    throw new InputError(
      'bad-option',
      `${option}: ${folder} is not a folder`,
      'use an existing folder or a new name',
    );
  }
  try {
    await access(folder, constants.W_OK);
  } catch (error) {
    throw new InputError('bad-option', `${option}: ${folder} cannot be written to`, 'use another folder', {
      cause: error,
    });
  }
}

/** Writes files as a unit: none appears before all are written, and each appears whole. */
async function writeAtomically(
  texts: Readonly<Record<string, string | Uint8Array>>,
  signal?: AbortSignal,
): Promise<void> {
  const partial = (file: string): string => `${file}.partial-${process.pid}`;
  try {
    for (const [file, text] of Object.entries(texts)) await writeFile(partial(file), text, { signal });
    for (const file of Object.keys(texts)) await rename(partial(file), file);
  } catch (error) {
    // A failed cleanup must not hide the original error.
    await Promise.allSettled(Object.keys(texts).map((file) => rm(partial(file), { force: true })));
    throw error;
  }
}

/**
 * Writes files as a unit: none appears before all are written.
 *
 * @param texts by name
 * @throws GoshawkError if they cannot be written
 */
export async function writeTogether(
  folder: string,
  texts: Readonly<Record<string, string | Uint8Array>>,
): Promise<void> {
  const files = Object.entries(texts).map(([name, text]) => [join(folder, name), text] as const);
  try {
    makeFolder(fs, folder);
    await writeAtomically(Object.fromEntries(files));
  } catch (error) {
    throw new GoshawkError('write-failed', `cannot write to ${folder}: ${(error as Error).message}`, '', {
      cause: error,
    });
  }
}

/**
 * Writes a file that appears whole or not at all.
 *
 * @throws GoshawkError if the file cannot be written, or the signal aborts the write
 */
export async function writeReportFile(file: string, text: string, signal?: AbortSignal): Promise<void> {
  try {
    await writeAtomically({ [file]: text }, signal);
  } catch (error) {
    throw new GoshawkError('report-failed', `cannot write ${file}: ${(error as Error).message}`, '', {
      cause: error,
    });
  }
}

/**
 * Writes the outcome of each job, run after run.
 * @throws as `writeReportFile`
 */
export async function saveResults(
  context: Context,
  file: string,
  runs: readonly (readonly JobRow[])[],
): Promise<void> {
  const { csvOf, formatJobRows } = await import('@goshawk/report');
  const text = file.endsWith('.csv') ? `${csvOf(runs.flat())}\n` : formatJobRows(runs);
  await writeReportFile(file, text, context.interrupted);
  context.note(`the outcome of each job is in ${file}`);
}
