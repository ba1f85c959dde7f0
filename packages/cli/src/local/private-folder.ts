import fs, { lstatSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InputError, makeFolder } from '@goshawk/core';

/** Mode bits that let other users write to the folder. */
const WRITABLE_BY_OTHERS = 0o022;

/**
 * Returns a private folder of this user in the temporary folder. If another user created it first, that user
 * could list there which processes this user's worker kills as leftovers.
 *
 * @throws InputError if it belongs to another user
 */
export function privateTemporaryFolder(parent: string = tmpdir()): string {
  const uid = process.getuid?.() ?? 0;
  const folder = join(parent, `goshawk-${uid}`);
  makeFolder(fs, folder, 0o700);
  const stats = lstatSync(folder);
  const isOurs = stats.isDirectory() && (process.getuid === undefined || stats.uid === uid);
  if (isOurs && (stats.mode & WRITABLE_BY_OTHERS) === 0) return folder;
  throw new InputError(
    'unsafe-folder',
    `${folder} is not a folder that only this user can write to`,
    'remove it, or choose another with --data-folder',
  );
}
