import { resolve } from 'node:path';
import type { Context } from '@goshawk/command';
import type { UserGrants } from '@goshawk/core';

/** Reads a `--users` file, if there is one. @throws InputError if it is unreadable or invalid */
export async function grantsIn(context: Context, path: string | undefined): Promise<UserGrants | undefined> {
  if (path === undefined) return undefined;
  const { readUsersFile } = await import('@goshawk/runtime');
  return readUsersFile(resolve(context.cwd, path)).grants;
}
