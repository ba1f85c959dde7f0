import { existsSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Context } from '@goshawk/command';
import { InputError, ROLES, type Role } from '@goshawk/core';
import type { ClusterKeys, KeyFile, NamedClient, NamedMember } from '@goshawk/transport';

const DEFAULT_FOLDER = 'goshawk-keys';

/** Returns the folder with the keys of a cluster: the argument, else `--keys`, else the default. */
export function keysFolder({ cwd, global }: Context, word: string | undefined): string {
  if (word !== undefined) return resolve(cwd, word);
  if (global.keys === undefined) return resolve(cwd, DEFAULT_FOLDER);
  const folder = resolve(cwd, global.keys);
  if (!existsSync(folder) || statSync(folder).isDirectory()) return folder;
  throw new InputError(
    'bad-keys',
    `--keys: ${folder} is not a folder`,
    'use the folder that `goshawk keygen` created',
  );
}

interface Folder {
  readonly keys: ClusterKeys;
  /** Contents of the individual key files. */
  readonly individuals: readonly KeyFile[];
}

export async function readFolder(folder: string): Promise<Folder> {
  const { readIndividuals, readKeyFolder } = await import('@goshawk/transport');
  return { keys: readKeyFolder(folder), individuals: readIndividuals(folder) };
}

/** Writes the shared key files, then the individual ones, and deletes the files of revoked keys. */
export async function writeFolder(
  folder: string,
  keys: ClusterKeys,
  individuals: readonly KeyFile[],
): Promise<void> {
  const { keyFileName, updated, writeKeyFolder } = await import('@goshawk/transport');
  const current = individuals.map((file) => updated(file, keys));
  writeKeyFolder(
    folder,
    keys,
    current.filter((file) => file !== undefined),
  );
  for (const [i, { role, name }] of individuals.entries()) {
    if (current[i] === undefined) rmSync(join(folder, keyFileName(role, name)), { force: true });
  }
}

/** Tells what remains to be done after the files of a folder have changed. */
export function afterChange(folder: string): string {
  return `processes reload changed files of ${folder} within 2 s; copy them to those that read copies, central and schedulers first`;
}

/** Returns all individual keys, clients first. */
export function admitted({
  central,
}: ClusterKeys): readonly ((NamedClient & { readonly role: 'client' }) | NamedMember)[] {
  const clients = (central.clients ?? []).map((client) => ({ ...client, role: 'client' as const }));
  return [...clients, ...(central.members ?? [])];
}

/**
 * Revokes an individual key, or replaces the shared key of a role.
 *
 * @throws InputError if no key has this name
 */
export async function revokeKey(folder: string, name: string): Promise<ClusterKeys> {
  const { removeKey, replaceRoleKey } = await import('@goshawk/transport');
  const { keys: before, individuals } = await readFolder(folder);
  const shared = ROLES.find((role): role is Exclude<Role, 'central'> => role === name && role !== 'central');
  const keys = shared === undefined ? removeKey(before, name) : replaceRoleKey(before, shared);
  if (keys === undefined) {
    const known = [...admitted(before).map((key) => key.name), 'worker', 'scheduler', 'client'].join(', ');
    throw new InputError('unknown-key', `keys: there is no key named ${name}`, `known keys: ${known}`);
  }
  await writeFolder(folder, keys, individuals);
  return keys;
}
