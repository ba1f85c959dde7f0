import { access, constants, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { GoshawkError, InputError } from '@goshawk/core';
import type { JobRecord } from '@goshawk/report';
import type { Context } from '../context.js';

/**
 * Found out before a run rather than after it. A file that is there is written anew.
 *
 * @param workload which is not to be lost to its own report
 * @param option that names the file
 * @throws InputError when no file can be written there
 */
export async function checkReportFile(file: string, workload: string, option = '--report'): Promise<void> {
  const folder = dirname(file);
  try {
    await access(folder, constants.W_OK);
  } catch (error) {
    throw new InputError(
      'bad-option',
      `${option}: ${folder} is no folder that can be written to (${(error as NodeJS.ErrnoException).code})`,
      'name a file in one that is',
      { cause: error },
    );
  }
  const there = await stat(file).catch(() => undefined);
  if (there?.isDirectory()) {
    throw new InputError('bad-option', `${option}: ${file} is a folder`, 'name a file');
  }
  // Whatever stands there is replaced: a device must not be.
  if (there !== undefined && !there.isFile()) {
    throw new InputError('bad-option', `${option}: ${file} is no ordinary file`, 'name another');
  }
  const source = await stat(workload).catch(() => undefined);
  if (there !== undefined && source?.ino === there.ino && source.dev === there.dev) {
    throw new InputError('bad-option', `${option}: ${file} is the workload itself`, 'name another file');
  }
}

/**
 * The file appears whole or not at all.
 *
 * @throws GoshawkError when it cannot be written, or the signal stops it
 */
export async function writeReportFile(file: string, text: string, signal?: AbortSignal): Promise<void> {
  const partial = `${file}.partial-${process.pid}`;
  try {
    await writeFile(partial, text, { signal });
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true });
    throw new GoshawkError('report-failed', `cannot write ${file}: ${(error as Error).message}`, '', {
      cause: error,
    });
  }
}

/** What became of each job, runs one after another. @throws as `writeReportFile` */
export async function saveResults(
  context: Context,
  file: string,
  runs: readonly (readonly JobRecord[])[],
): Promise<void> {
  const { formatJobRecords } = await import('@goshawk/report');
  await writeReportFile(file, formatJobRecords(runs), context.interrupted);
  context.note(`what became of each job is in ${file}`);
}
