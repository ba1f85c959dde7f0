import {
  type ClientKey,
  InputError,
  LIMITS,
  present,
  RIGHTS,
  type Right,
  ROLES,
  type Role,
} from '@goshawk/core';
import { KEY_BYTES } from './raw-keys.js';
import { boundsOf, type WorkerBounds } from './worker-bounds.js';

/**
 * The key file of a role: its secret keys and all public keys. The first generation is in use; a second one
 * is also accepted during rotation. All keys are base64url of 32 bytes.
 */
export interface KeyFile {
  readonly schema: typeof KEY_SCHEMA;
  readonly role: Role;
  /** Name of the key, if it belongs to one process; absent in the key of a whole role. */
  readonly name?: string | undefined;
  readonly generations: readonly KeyGeneration[];
  /** In files of listening processes: clients with individual keys. */
  readonly clients?: readonly NamedClient[] | undefined;
  /** Workers and schedulers with individual keys; clients need only the schedulers. */
  readonly members?: readonly NamedMember[] | undefined;
  /**
   * Values of attributes that a worker's key has ever listed, by name: only keys that list them permit them, also once the first
   * such key has expired or is revoked. Clients need none.
   */
  readonly reserved?: WorkerBounds['attributes'];
  /** When this individual key expires, as an ISO date. */
  readonly expires?: string | undefined;
}

/** A client's individual key. It belongs to no generation: it is valid until it expires or is revoked. */
export interface NamedClient extends ClientKey, KeyTexts {
  /** ISO date. */
  readonly expires?: string | undefined;
}

/** The individual key of a worker process or a scheduler. */
export interface NamedMember extends KeyTexts {
  readonly role: MemberRole;
  readonly name: string;
  /** Patterns of the names that its process may take in the cluster; default: the name of the key. */
  readonly names?: readonly string[] | undefined;
  /** Values of attributes that its workers may have, by name; of other attributes: any that is not reserved. */
  readonly attributes?: WorkerBounds['attributes'];
  /** Most that one of its workers may have; default: any. */
  readonly capacity?: WorkerBounds['capacity'];
  /** ISO date. */
  readonly expires?: string | undefined;
}

export const MEMBER_ROLES = ['worker', 'scheduler'] as const;
export type MemberRole = (typeof MEMBER_ROLES)[number];

export interface KeyGeneration {
  /** 1 for the first keys of a cluster, incremented by each rotation. */
  readonly number: number;
  readonly secret: KeyTexts;
  readonly public: Readonly<Record<Role, KeyTexts>>;
}

export interface KeyTexts {
  /** X25519: encrypts and authenticates connections. */
  readonly curve: string;
  /** Ed25519: signs the name and role of a process. */
  readonly sign: string;
}

export const KEY_SCHEMA = 'goshawk.keys/1';
/** The current generation, and the next or previous one. */
const GENERATIONS_MAX = 2;

/** Returns the name of a key file. @param name of the individual key; undefined: the key of a role */
export function keyFileName(role: Role, name?: string): string {
  return name === undefined ? `${role}.key` : `${role}.${name}.key`;
}

const KEY_NAME = /^[a-z0-9][a-z0-9_-]{0,31}$/;

/** Returns whether this is a valid name of an individual key. The names of roles are reserved for shared keys. */
export function isKeyName(name: unknown): name is string {
  return typeof name === 'string' && !(ROLES as readonly string[]).includes(name) && KEY_NAME.test(name);
}

/**
 * @param source name of the file for errors, which never quote the content, because it is secret
 * @throws InputError that names the problem
 */
export function parseKeyFile(text: string, source: string): KeyFile {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw badKeys(source, 'it is not JSON');
  }
  const file = object(value, source, 'it');
  if (file.schema !== KEY_SCHEMA) throw badKeys(source, `its schema is not ${KEY_SCHEMA}`);
  const role = ROLES.find((known) => known === file.role);
  if (role === undefined) throw badKeys(source, `its role is not one of ${ROLES.join(', ')}`);
  const { generations } = file;
  if (!Array.isArray(generations) || generations.length < 1 || generations.length > GENERATIONS_MAX) {
    throw badKeys(source, `it needs one or ${GENERATIONS_MAX} generations of keys`);
  }
  const { name, clients, members } = file;
  const reserved = boundsOf(file.reserved, undefined);
  if (typeof reserved === 'string') throw badKeys(source, `of reserved values, ${reserved}`);
  if (name !== undefined && !(isKeyName(name) && role !== 'central'))
    throw badKeys(source, 'its name is not a valid key name');
  return {
    schema: KEY_SCHEMA,
    role,
    generations: generations.map((each) => generation(each, source)),
    ...present({ name }),
    ...(clients === undefined ? {} : { clients: clientsOf(clients, source) }),
    ...(members === undefined ? {} : { members: membersOf(members, source) }),
    ...present({ reserved: reserved.attributes }),
    ...expiryOf(file, source),
  };
}

function membersOf(value: unknown, source: string): NamedMember[] {
  if (!Array.isArray(value)) throw badKeys(source, 'its members are not a list');
  return value.map((each) => {
    const { role: text, name, names, attributes, capacity, ...rest } = object(each, source, 'a member');
    const role = MEMBER_ROLES.find((known) => known === text);
    if (!isKeyName(name)) throw badKeys(source, 'a member has no name');
    if (role === undefined) throw badKeys(source, `the role of ${name} is neither worker nor scheduler`);
    if (names !== undefined && !(Array.isArray(names) && names.length > 0 && names.every(isPattern)))
      throw badKeys(source, `the names of ${name} are not a list of texts`);
    const bounds = boundsOf(attributes, capacity);
    if (typeof bounds === 'string') throw badKeys(source, `${bounds} (${name})`);
    return {
      role,
      name,
      ...present({ names: names as string[] | undefined }),
      ...bounds,
      ...keys(rest, source, `the keys of ${name}`),
      ...expiryOf(rest, source),
    };
  });
}

function isPattern(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= LIMITS.nameLengthMax;
}

/** A time without a zone would expire at different moments on machines in different zones. */
const EXPIRY = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/;

function expiryOf({ expires }: Record<string, unknown>, source: string): { expires?: string } {
  if (expires === undefined) return {};
  if (typeof expires === 'string' && EXPIRY.test(expires) && !Number.isNaN(Date.parse(expires)))
    return { expires };
  throw badKeys(source, 'an expiry is not a date, or its time lacks a zone');
}

function clientsOf(value: unknown, source: string): NamedClient[] {
  if (!Array.isArray(value)) throw badKeys(source, 'its clients are not a list');
  return value.map((each) => {
    const { name, rights, ...texts } = object(each, source, 'a client');
    if (!isKeyName(name)) throw badKeys(source, 'a client has no name');
    if (!Array.isArray(rights) || !rights.every((right): right is Right => RIGHTS.includes(right as Right)))
      throw badKeys(source, `the rights of ${name} are not among ${RIGHTS.join(', ')}`);
    return { name, rights, ...keys(texts, source, `the keys of ${name}`), ...expiryOf(texts, source) };
  });
}

function generation(value: unknown, source: string): KeyGeneration {
  const { number, secret, public: publicKeys } = object(value, source, 'a generation');
  if (!Number.isSafeInteger(number)) throw badKeys(source, 'a generation has no number');
  const byRole = object(publicKeys, source, 'a generation’s public keys');
  return {
    number: number as number,
    secret: keys(secret, source, 'its secret keys'),
    public: Object.fromEntries(
      ROLES.map((role) => [role, keys(byRole[role], source, `the public keys of the ${role}`)]),
    ) as Record<Role, KeyTexts>,
  };
}

function keys(value: unknown, source: string, what: string): KeyTexts {
  const { curve, sign } = object(value, source, what);
  if (!isKey(curve) || !isKey(sign)) throw badKeys(source, `${what} are not two keys of ${KEY_BYTES} bytes`);
  return { curve, sign };
}

function isKey(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Za-z0-9_-]{43}$/.test(value);
}

function object(value: unknown, source: string, what: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw badKeys(source, `${what} is missing or not an object`);
}

export function badKeys(source: string, problem: string): InputError {
  return new InputError(
    'bad-keys',
    `${source} is not a key file: ${problem}`,
    '`goshawk keygen` creates the keys of a cluster',
  );
}
