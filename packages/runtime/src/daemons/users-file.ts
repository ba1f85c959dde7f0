import fs from 'node:fs';
import { decodeText, InputError, parseUsers, readRegularFile, type UserGrants } from '@goshawk/core';
import { fileVersion, type Logger, watchFile } from '@goshawk/transport';

export interface UsersFile {
  readonly path: string;
  readonly grants: UserGrants;
  /** Version of the file at the time it was read. */
  readonly version: string | undefined;
}

/** Users are few; central stands still while it reads a file. */
const BYTES_MAX = 4 * 1024 * 1024;

/** @throws InputError with line and column of the fault */
export function readUsersFile(path: string): UsersFile {
  const version = fileVersion(path);
  const bytes = readRegularFile(
    fs,
    path,
    (why, cause) =>
      new InputError('bad-users', `--users: cannot read ${path}: ${why}`, 'pass a file of users', { cause }),
    BYTES_MAX,
  );
  return { path, grants: parseUsers(decodeText(bytes, path), path), version };
}

/** Reloads the file whenever it changes. A missing or invalid file changes nothing and is logged. @returns a function that stops */
export function followUsersFile(
  { path, version }: UsersFile,
  logger: Logger,
  apply: (grants: UserGrants) => void,
): () => void {
  return watchFile(path, version, () => {
    try {
      const { grants } = readUsersFile(path);
      apply(grants);
      logger.info({ path, users: grants.size }, 'users were reloaded');
    } catch (error) {
      const { message, hint } = error as InputError;
      logger.error({ problem: message, hint }, 'the users are unchanged: the file is missing or invalid');
    }
  });
}
