import { type ClientKey, present, ROLES, type Role } from '@goshawk/core';
import {
  KEY_SCHEMA,
  type KeyFile,
  type KeyGeneration,
  type KeyTexts,
  type NamedClient,
  type NamedMember,
} from './key-file.js';
import { newSecret, publicOf } from './raw-keys.js';

/** The key files of a cluster, one for each role. */
export type ClusterKeys = Readonly<Record<Role, KeyFile>>;

/** Generates the keys of a new cluster. */
export function generateKeys(): ClusterKeys {
  return toFiles([newGeneration(1)]);
}

export type RotationStep = 'prepared' | 'switched' | 'finished';

/**
 * Performs one step of a rotation. After each step the operator gives all processes their new files, in any order.
 * Processes accept two generations of keys during the rotation, so those before and after a step work together:
 *
 * - prepared: all processes accept the new keys and use the old ones;
 * - switched: all processes use the new keys and accept the old ones;
 * - finished: the old keys are deleted.
 */
export function rotate(files: ClusterKeys): { files: ClusterKeys; step: RotationStep } {
  const [inUse, other] = files.central.generations;
  if (other === undefined)
    return { files: append(files, newGeneration(inUse!.number + 1)), step: 'prepared' };
  const isPrepared = inUse!.number < other.number;
  return {
    files: mapFiles(files, ([first, second]) => (isPrepared ? [second!, first!] : [first!])),
    step: isPrepared ? 'switched' : 'finished',
  };
}

/**
 * Creates an individual key for a client and revokes its previous one.
 * @returns the files of all roles, updated, and the client's file
 */
export function addClient(
  files: ClusterKeys,
  key: ClientKey & Pick<NamedClient, 'expires'>,
): { files: ClusterKeys; client: KeyFile } {
  const secret = newSecrets();
  const client = { ...key, ...publicTexts(secret) };
  const admitting = withClients(files, (clients) => [
    ...clients.filter(({ name }) => name !== key.name),
    client,
  ]);
  return { files: admitting, client: individualFile({ role: 'client', name: key.name }, secret, admitting) };
}

/**
 * Creates an individual key for a worker process or a scheduler and revokes its previous one.
 * @returns the files of all roles, updated, and the file of the process
 */
export function addMember(
  files: ClusterKeys,
  key: Omit<NamedMember, keyof KeyTexts>,
): { files: ClusterKeys; member: KeyFile } {
  const secret = newSecrets();
  const member = { ...key, ...publicTexts(secret) };
  const all = withMembers(files, (members) => [...members.filter(({ name }) => name !== key.name), member]);
  const reserved = reservedWith(files.central.reserved, key.attributes);
  const admitting = byRole((role) =>
    role === 'client' ? all.client : { ...all[role], ...present({ reserved }) },
  );
  return { files: admitting, member: individualFile(key, secret, admitting) };
}

function reservedWith(
  reserved: KeyFile['reserved'],
  listed: NamedMember['attributes'] = {},
): KeyFile['reserved'] {
  const all = new Map(Object.entries(reserved ?? {}));
  for (const [name, values] of Object.entries(listed))
    all.set(name, [...new Set([...(all.get(name) ?? []), ...values])]);
  return all.size === 0 ? undefined : Object.fromEntries(all);
}

/** Revokes an individual key. Returns the updated files; undefined if no key has this name. */
export function removeKey(files: ClusterKeys, name: string): ClusterKeys | undefined {
  const isOther = (key: { readonly name: string }): boolean => key.name !== name;
  if ([...clientsIn(files), ...membersIn(files)].every(isOther)) return undefined;
  return withMembers(
    withClients(files, (clients) => clients.filter(isOther)),
    (members) => members.filter(isOther),
  );
}

/** Returns the clients with individual keys. */
export function clientsIn(files: ClusterKeys): readonly NamedClient[] {
  return files.central.clients ?? [];
}

/** Returns the workers and schedulers with individual keys. */
export function membersIn(files: ClusterKeys): readonly NamedMember[] {
  return files.central.members ?? [];
}

/** Returns whether a key with this name exists and permits the same process names. */
export function isKeyFor(
  files: ClusterKeys,
  { role, name, names }: Omit<NamedMember, keyof KeyTexts>,
): boolean {
  const known = membersIn(files).find((key) => key.role === role && key.name === name);
  return known !== undefined && JSON.stringify(known.names) === JSON.stringify(names);
}

/** Replaces the shared key of a role, such as `client.key`, and thus revokes the previous one. */
export function replaceRoleKey(files: ClusterKeys, replaced: Role): ClusterKeys {
  const secrets = files[replaced].generations.map(() => newSecrets());
  return mapFiles(files, (generations, role) =>
    generations.map((generation, place) => ({
      ...generation,
      secret: role === replaced ? secrets[place]! : generation.secret,
      public: { ...generation.public, [replaced]: publicTexts(secrets[place]!) },
    })),
  );
}

/**
 * Returns an individual key file with the other processes' current public keys; undefined if the key was revoked.
 */
export function updated({ role, name, generations }: KeyFile, files: ClusterKeys): KeyFile | undefined {
  const [{ secret }] = generations as [KeyGeneration];
  const { curve } = publicTexts(secret);
  const known = role === 'client' ? clientsIn(files) : membersIn(files).filter((key) => key.role === role);
  const isKnown = known.some((key) => key.name === name && key.curve === curve);
  return isKnown ? individualFile({ role, name: name! }, secret, files) : undefined;
}

function individualFile(
  { role, name }: { readonly role: Role; readonly name: string },
  secret: KeyTexts,
  files: ClusterKeys,
): KeyFile {
  const known = [...clientsIn(files), ...membersIn(files)].find((key) => key.name === name);
  const { clients, members, reserved } = files[role];
  return {
    schema: KEY_SCHEMA,
    role,
    name,
    // Readers check the secret key against the role's public key, so a client's file lists its own key there.
    generations: files[role].generations.map((generation) => ({
      number: generation.number,
      secret,
      public: role === 'client' ? { ...generation.public, client: publicTexts(secret) } : generation.public,
    })),
    ...present({ clients, members, reserved, expires: known?.expires }),
  };
}

function withClients(
  files: ClusterKeys,
  change: (clients: readonly NamedClient[]) => readonly NamedClient[],
): ClusterKeys {
  const clients = change(clientsIn(files));
  return byRole((role) => (role === 'client' ? files.client : { ...files[role], clients }));
}

/** Adds the individual keys that a role needs: clients connect to schedulers, but not to workers. */
function withMembers(
  files: ClusterKeys,
  change: (members: readonly NamedMember[]) => readonly NamedMember[],
): ClusterKeys {
  const members = change(membersIn(files));
  const schedulers = members.filter(({ role }) => role === 'scheduler');
  return byRole((role) => ({ ...files[role], members: role === 'client' ? schedulers : members }));
}

/** A generation of keys by role; only the secrets differ. */
type GenerationByRole = Readonly<Record<Role, KeyGeneration>>;

function newGeneration(number: number): GenerationByRole {
  const secrets = byRole(() => newSecrets());
  const publicKeys = byRole((role) => publicTexts(secrets[role]));
  return byRole((role) => ({ number, secret: secrets[role], public: publicKeys }));
}

function newSecrets(): KeyTexts {
  return { curve: text(newSecret('x25519')), sign: text(newSecret('ed25519')) };
}

function publicTexts({ curve, sign }: KeyTexts): KeyTexts {
  const publicText = (kind: 'x25519' | 'ed25519', secret: string) =>
    text(publicOf(kind, Buffer.from(secret, 'base64url')));
  return { curve: publicText('x25519', curve), sign: publicText('ed25519', sign) };
}

function append(files: ClusterKeys, generation: GenerationByRole): ClusterKeys {
  return mapFiles(files, (generations, role) => [...generations, generation[role]]);
}

function toFiles(generations: readonly GenerationByRole[]): ClusterKeys {
  return byRole((role) => ({
    schema: KEY_SCHEMA,
    role,
    generations: generations.map((generation) => generation[role]),
  }));
}

function mapFiles(
  files: ClusterKeys,
  change: (generations: readonly KeyGeneration[], role: Role) => readonly KeyGeneration[],
): ClusterKeys {
  return byRole((role) => ({ ...files[role], generations: change(files[role].generations, role) }));
}

function byRole<T>(make: (role: Role) => T): Readonly<Record<Role, T>> {
  return Object.fromEntries(ROLES.map((role) => [role, make(role)])) as Record<Role, T>;
}

function text(bytes: Buffer): string {
  return bytes.toString('base64url');
}
