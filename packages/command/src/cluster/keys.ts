import { resolve } from 'node:path';
import type { Role } from '@goshawk/core';
import type { KeyRing, KeySource } from '@goshawk/transport';
import type { Context } from '../context.js';

/** Variable with the content of a key file, for systems that pass secrets in the environment. */
const KEY_VARIABLE = 'GOSHAWK_KEY';

/** Returns the keys that --keys or a variable names; undefined without either. The path takes precedence. */
export function keySource({ global, environment, cwd }: Context): KeySource | undefined {
  if (global.keys !== undefined) return { path: resolve(cwd, global.keys) };
  const text = environment[KEY_VARIABLE];
  return text === undefined || text === '' ? undefined : { text };
}

/** @throws InputError for keys that are invalid, not private, or of another role */
export async function keysFor(role: Role, context: Context): Promise<KeyRing | undefined> {
  const source = keySource(context);
  if (source === undefined) return undefined;
  const { readKeys } = await import('@goshawk/transport');
  return readKeys(source, role);
}
