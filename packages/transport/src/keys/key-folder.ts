import fs, {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { InputError, makeFolder, ROLES, type Role, shellWord, untrustedAt, whyUnread } from '@goshawk/core';
import type { ClusterKeys } from './generate.js';
import { type KeyFile, keyFileName, MEMBER_ROLES, parseKeyFile } from './key-file.js';
import { type KeyRing, keyRing } from './key-ring.js';

/** Only the owner may read or write a secret. */
const FORBIDDEN_MODE = 0o077;
/** Kubernetes mounts secrets as files of root that the pod's group may read. */
const FORBIDDEN_MODE_OF_ROOT = 0o037;
/** A key file has about 2 KB, and 200 bytes for each individual key. */
const BYTES_MAX = 4 * 1024 * 1024;

/** Location of a process's keys. */
export interface KeySource {
  /** A key file, or a folder of them. */
  readonly path?: string | undefined;
  /** Content of a key file, for example from a secret in the environment. */
  readonly text?: string | undefined;
}

/**
 * Returns the keys of a process of this role; undefined if no source was given.
 *
 * @throws InputError if the source contains no keys or those of another role, or other users can read or write it
 */
export function readKeys({ path, text }: KeySource, role: Role): KeyRing | undefined {
  if (path !== undefined) {
    const file = keyPath(path, role);
    // Read the version first: the watcher then detects a change during the read.
    const version = fileVersion(file);
    return { ...ringOf(readKeyFile(file), file, role), path: file, version };
  }
  if (text === undefined || text === '') return undefined;
  const source = 'GOSHAWK_KEY';
  return ringOf(parseKeyFile(text, source), source, role);
}

/** Returns a value that changes whenever the file does; undefined if the file does not exist. */
export function fileVersion(path: string): string | undefined {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(path);
    return [ino, size, mtimeMs, ctimeMs].join(' ');
  } catch {
    return undefined;
  }
}

function ringOf(file: KeyFile, source: string, role: Role): KeyRing {
  if (file.role === role) return keyRing(file, source);
  throw new InputError(
    'wrong-keys',
    `${source} contains the keys of a ${file.role}, but this is a ${role}`,
    `give it ${keyFileName(role)}`,
  );
}

function keyPath(path: string, role: Role): string {
  return existsSync(path) && statSync(path).isDirectory() ? join(path, keyFileName(role)) : path;
}

/** @throws InputError */
function readKeyFile(path: string): KeyFile {
  let text: string;
  try {
    checkPrivate(path, statSync(path));
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError(
      'no-keys',
      `cannot read the key file ${path}: ${whyUnread(error)}`,
      '`goshawk keygen` creates the keys of a cluster',
      { cause: error },
    );
  }
  return parseKeyFile(text, path);
}

function checkPrivate(path: string, stats: Stats): void {
  if (!stats.isFile()) throw new InputError('bad-keys', `${path} is not a file`, 'give a key file');
  if (stats.size > BYTES_MAX) {
    throw new InputError('bad-keys', `${path} has ${stats.size} bytes, too large for a key file`);
  }
  checkOwner(path, stats);
}

/**
 * Verifies that no other user can read or write a secret.
 * @throws InputError with the remedy
 */
export function checkOwner(path: string, stats: Pick<Stats, 'mode' | 'uid'>): void {
  const uid = process.getuid?.();
  const isRootFile = stats.uid === 0 && uid !== 0;
  if ((stats.mode & (isRootFile ? FORBIDDEN_MODE_OF_ROOT : FORBIDDEN_MODE)) !== 0) {
    throw new InputError(
      'open-keys',
      `other users can read or write ${path} (mode ${modeOf(stats)})`,
      `chmod 600 ${shellWord(path)}`,
    );
  }
  if (uid !== undefined && uid !== 0 && stats.uid !== uid && stats.uid !== 0) {
    throw new InputError('open-keys', `${path} belongs to another user, who can change it`, `chown it`);
  }
}

function modeOf({ mode }: Pick<Stats, 'mode'>): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}

/** Reads the key files of all roles. @throws InputError if one is missing or invalid, or their clusters differ */
export function readKeyFolder(folder: string): ClusterKeys {
  const keys = Object.fromEntries(
    ROLES.map((role) => [role, readKeyFile(join(folder, keyFileName(role)))]),
  ) as unknown as ClusterKeys;
  const listening = ROLES.filter((role) => role !== 'client').map((role) => [
    keys[role].clients ?? [],
    keys[role].members ?? [],
  ]);
  const isOne = new Set(ROLES.map((role) => publicPart(keys[role]))).size === 1;
  if (isOne && new Set(listening.map((admitted) => JSON.stringify(admitted))).size === 1) return keys;
  throw new InputError(
    'mixed-keys',
    `the key files in ${folder} do not belong together`,
    'use the key files of one run of `goshawk keygen`',
  );
}

function publicPart({ generations }: KeyFile): string {
  return JSON.stringify(
    generations.map(({ number, public: publicKeys }) => [number, ROLES.map((role) => publicKeys[role])]),
  );
}

const INDIVIDUAL = new RegExp(`^(?:client|${MEMBER_ROLES.join('|')})\\..+\\.key$`);

/** Reads the individual key files in a folder. @throws InputError for an invalid one */
export function readIndividuals(folder: string): KeyFile[] {
  return (
    readdirSync(folder)
      .filter((file) => INDIVIDUAL.test(file))
      .map((file) => ({ file, key: readKeyFile(join(folder, file)) }))
      // A file whose name does not match its key is a copy, for example a backup.
      .filter(({ file, key }) => keyFileName(key.role, key.name) === file)
      .map(({ key }) => key)
  );
}

/** Returns the paths of the roles' key files that exist in a folder. */
export function keysIn(folder: string): string[] {
  return ROLES.map((role) => join(folder, keyFileName(role))).filter((path) => existsSync(path));
}

/**
 * Writes all files, each atomically and readable only by the owner.
 * @param individuals the individual key files
 * @throws InputError if other users can write to the folder or a parent: they could replace a file, or all of them
 */
export function writeKeyFolder(
  folder: string,
  keys: ClusterKeys,
  individuals: readonly KeyFile[] = [],
): void {
  checkKeyFolder(folder);
  makeFolder(fs, folder, 0o700);
  checkKeyFolder(folder);
  const files = [...ROLES.map((role) => keys[role]), ...individuals];
  const paths = files.map((file) => [file, join(folder, keyFileName(file.role, file.name))] as const);
  for (const [file, path] of paths) {
    // An earlier run that was killed may have left a draft.
    rmSync(draftOf(path), { force: true });
    writeFileSync(draftOf(path), `${JSON.stringify(file, undefined, 2)}\n`, {
      mode: 0o600,
      flag: 'wx',
    });
  }
  // Keys in a project's folder must not be committed.
  writeFileSync(join(folder, '.gitignore'), '*\n', { mode: 0o600 });
  for (const [, path] of paths) renameSync(draftOf(path), path);
}

/** Also checks the parents: who can rename the folder can put another one with the same keys in its place. */
function checkKeyFolder(folder: string): void {
  const untrusted = untrustedAt(fs, resolve(folder), process.geteuid?.());
  if (untrusted === undefined) return;
  const problem = `${untrusted}, who could take or replace the keys in ${folder}`;
  throw new InputError(
    'open-keys',
    problem,
    'give a folder that only you can write to, in folders of this kind',
  );
}

function draftOf(path: string): string {
  return `${path}.new`;
}
