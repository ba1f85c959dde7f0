import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { InputError, ROLES, type Role } from '@goshawk/core';
import type { ClusterKeys } from './generate.js';
import { type KeyFile, keyFileName, parseKeyFile } from './key-file.js';
import { type KeyRing, keyRing } from './key-ring.js';

/** The group may read it, as Kubernetes hands secrets to a pod; nobody else, and nobody but the owner writes. */
const FORBIDDEN_MODE = 0o037;
/** A key file has some 2 KB. */
const BYTES_MAX = 64 * 1024;

/** Where a process finds its keys. */
export interface KeySource {
  /** A key file, or a folder of them. */
  readonly path?: string | undefined;
  /** What a key file holds, itself: from a secret in the environment, say. */
  readonly text?: string | undefined;
}

/**
 * The keys of a process of this role; undefined when no source was given.
 *
 * @throws InputError when there are none, somebody else could have read or written them, or they are another
 * role's
 */
export function readKeys({ path, text }: KeySource, role: Role): KeyRing | undefined {
  if (path !== undefined) return ringOf(readKeyFile(keyPath(path, role)), keyPath(path, role), role);
  if (text === undefined || text === '') return undefined;
  const source = 'GOSHAWK_KEY';
  return ringOf(parseKeyFile(text, source), source, role);
}

function ringOf(file: KeyFile, source: string, role: Role): KeyRing {
  if (file.role === role) return keyRing(file, source);
  throw new InputError(
    'wrong-keys',
    `${source} holds the keys of a ${file.role}, and this is a ${role}`,
    `give it ${keyFileName(role)}`,
  );
}

function keyPath(path: string, role: Role): string {
  return existsSync(path) && statSync(path).isDirectory() ? join(path, keyFileName(role)) : path;
}

/** @throws InputError */
export function readKeyFile(path: string): KeyFile {
  let text: string;
  try {
    checkPrivate(path, statSync(path));
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError(
      'no-keys',
      `cannot read the key file ${path}: ${(error as Error).message}`,
      '`goshawk keygen` makes a cluster’s keys',
      { cause: error },
    );
  }
  return parseKeyFile(text, path);
}

function checkPrivate(path: string, stats: Stats): void {
  if (!stats.isFile()) throw new InputError('bad-keys', `${path} is not a file`, 'give a key file');
  if (stats.size > BYTES_MAX) {
    throw new InputError('bad-keys', `${path} has ${stats.size} bytes; no key file is that large`);
  }
  if ((stats.mode & FORBIDDEN_MODE) !== 0) {
    const mode = (stats.mode & 0o777).toString(8).padStart(4, '0');
    throw new InputError('open-keys', `others may read or write ${path} (mode ${mode})`, `chmod 600 ${path}`);
  }
  const uid = process.getuid?.();
  if (uid !== undefined && uid !== 0 && stats.uid !== uid && stats.uid !== 0) {
    throw new InputError('open-keys', `${path} belongs to another user, who can change it`, `chown it`);
  }
}

/** @throws InputError when one of them is missing or unfit, or they are not of one cluster */
export function readKeyFolder(folder: string): ClusterKeys {
  const keys = Object.fromEntries(
    ROLES.map((role) => [role, readKeyFile(join(folder, keyFileName(role)))]),
  ) as unknown as ClusterKeys;
  if (new Set(ROLES.map((role) => publicPart(keys[role]))).size === 1) return keys;
  throw new InputError(
    'mixed-keys',
    `the key files in ${folder} do not belong together`,
    'take them all from one run of `goshawk keygen`',
  );
}

function publicPart({ generations }: KeyFile): string {
  return JSON.stringify(
    generations.map(({ number, public: everybody }) => [number, ROLES.map((role) => everybody[role])]),
  );
}

/** The key files that are in a folder already. */
export function keysIn(folder: string): string[] {
  return ROLES.map((role) => join(folder, keyFileName(role))).filter((path) => existsSync(path));
}

/** Writes all of them, each whole or not at all, for the owner's eyes only. */
export function writeKeyFolder(folder: string, keys: ClusterKeys): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const paths = ROLES.map((role) => [role, join(folder, keyFileName(role))] as const);
  for (const [role, path] of paths) {
    writeFileSync(draftOf(path), `${JSON.stringify(keys[role], undefined, 2)}\n`, { mode: 0o600 });
    chmodSync(draftOf(path), 0o600);
  }
  // Keys that lie in a project's folder must not be committed with it.
  writeFileSync(join(folder, '.gitignore'), '*\n');
  for (const [, path] of paths) renameSync(draftOf(path), path);
}

function draftOf(path: string): string {
  return `${path}.new`;
}
