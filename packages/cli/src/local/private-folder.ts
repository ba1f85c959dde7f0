import fs, { lstatSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InputError, makeFolder } from '@goshawk/core';

/** Others may not put anything there. */
const WRITABLE_BY_OTHERS = 0o022;

/**
 * A folder of this user in the temporary folder, which every user of the machine may write to. Another user who made it
 * first could write there which processes are to be ended, as left behind by an earlier worker.
 *
 * @throws InputError when it is somebody else's
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
    'remove it, or give another one with --data-folder',
  );
}
