import fs, { lstatSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InputError, makeFolder, untrustedAt } from '@goshawk/core';

/**
 * Returns a private folder of this user in the temporary folder. If another user created it first, that user
 * could list there which processes this user's worker kills as leftovers.
 *
 * @throws InputError if it belongs to another user
 */
export function privateTemporaryFolder(parent: string = tmpdir()): string {
  const uid = process.geteuid?.();
  const folder = join(parent, `goshawk-${uid ?? 0}`);
  makeFolder(fs, folder, 0o700);
  // A link could lead to any folder of this user.
  if (lstatSync(folder).isDirectory() && untrustedAt(fs, folder, uid, 'caller') === undefined) return folder;
  throw new InputError(
    'unsafe-folder',
    `${folder} is not a folder that only this user can write to`,
    'remove it, or choose another with --data-folder',
  );
}
