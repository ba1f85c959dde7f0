import { access, constants, mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { GoshawkError, InputError } from '@goshawk/core';
import { writeWhole } from '../output/files.js';

/**
 * Found out before the runs rather than after them. A folder that is not there is made when there is
 * something to put into it; files that are there are written anew.
 *
 * @param names of the files
 * @throws InputError when they cannot be written there
 */
export async function checkOutFolder(folder: string, names: readonly string[]): Promise<void> {
  await checkWritable(folder);
  for (const name of names) {
    const there = await stat(join(folder, name)).catch(() => undefined);
    if (there === undefined || there.isFile()) continue;
    throw new InputError(
      'bad-option',
      `--out: ${join(folder, name)} is no ordinary file`,
      'name another folder',
    );
  }
}

async function checkWritable(folder: string): Promise<void> {
  const there = await stat(folder).catch(() => undefined);
  if (there === undefined && dirname(folder) !== folder) return checkWritable(dirname(folder));
  if (there !== undefined && !there.isDirectory()) {
    throw new InputError('bad-option', `--out: ${folder} is no folder`, 'name one, or a new one');
  }
  try {
    await access(folder, constants.W_OK);
  } catch (error) {
    throw new InputError('bad-option', `--out: ${folder} cannot be written to`, 'name another folder', {
      cause: error,
    });
  }
}

/**
 * Files that belong together: none of them appears before all have been written out.
 *
 * @param texts by name
 * @throws GoshawkError when they cannot be written
 */
export async function writeTogether(folder: string, texts: Readonly<Record<string, string>>): Promise<void> {
  const files = Object.entries(texts).map(([name, text]) => [join(folder, name), text] as const);
  try {
    await mkdir(folder, { recursive: true });
    await writeWhole(Object.fromEntries(files));
  } catch (error) {
    throw new GoshawkError('write-failed', `cannot write to ${folder}: ${(error as Error).message}`, '', {
      cause: error,
    });
  }
}
