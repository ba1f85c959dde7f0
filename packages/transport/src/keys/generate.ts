import { type ClientKey, ROLES, type Role } from '@goshawk/core';
import { KEY_SCHEMA, type KeyFile, type KeyGeneration, type KeyTexts, type NamedClient } from './key-file.js';
import { newSecret, publicOf } from './raw-keys.js';

/** The key files of a cluster, one for each role. */
export type ClusterKeys = Readonly<Record<Role, KeyFile>>;

/** Generates the keys of a new cluster. */
export function generateKeys(): ClusterKeys {
  return toFiles([newGeneration(1)]);
}

export type RotationStep = 'prepared' | 'switched' | 'finished';

/**
 * Performs one step of a rotation. After each step all processes get the new files, in any order. Two keys are accepted during the
 * rotation, so processes before and after a step work together:
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
 * Creates an individual key for a client; its previous key becomes invalid.
 * @returns the data for all others, and the client's file
 */
export function addClient(files: ClusterKeys, key: ClientKey): { files: ClusterKeys; client: KeyFile } {
  const secret = newSecrets();
  const client = { ...key, ...publicTexts(secret) };
  return {
    files: withClients(files, (clients) => [...clients.filter(({ name }) => name !== key.name), client]),
    client: clientFile(key.name, secret, files),
  };
}

/** Revokes a client's key. @returns undefined if the client does not exist */
export function removeClient(files: ClusterKeys, name: string): ClusterKeys | undefined {
  if (!clientsIn(files).some((client) => client.name === name)) return undefined;
  return withClients(files, (clients) => clients.filter((client) => client.name !== name));
}

/** Clients with individual keys. */
export function clientsIn(files: ClusterKeys): readonly NamedClient[] {
  return files.central.clients ?? [];
}

/** Generates a new `client.key` and invalidates the previous one. */
export function replaceClientKey(files: ClusterKeys): ClusterKeys {
  const secrets = files.client.generations.map(() => newSecrets());
  return mapFiles(files, (generations, role) =>
    generations.map((generation, place) => ({
      ...generation,
      secret: role === 'client' ? secrets[place]! : generation.secret,
      public: { ...generation.public, client: publicTexts(secrets[place]!) },
    })),
  );
}

/** Returns the client's key file, updated to match those of the processes that it talks to. */
export function followRotation({ name, generations }: KeyFile, files: ClusterKeys): KeyFile {
  return clientFile(name!, generations[0]!.secret, files);
}

function clientFile(name: string, secret: KeyTexts, files: ClusterKeys): KeyFile {
  const generations = files.client.generations.map((generation) => ({
    number: generation.number,
    secret,
    public: { ...generation.public, client: publicTexts(secret) },
  }));
  return { schema: KEY_SCHEMA, role: 'client', name, generations };
}

function withClients(
  files: ClusterKeys,
  change: (clients: readonly NamedClient[]) => readonly NamedClient[],
): ClusterKeys {
  const clients = change(clientsIn(files));
  return byRole((role) => (role === 'client' ? files.client : { ...files[role], clients }));
}

/** The same for every role, except the secret. */
type GenerationByRole = Readonly<Record<Role, KeyGeneration>>;

function newGeneration(number: number): GenerationByRole {
  const secrets = byRole(() => newSecrets());
  const everybody = byRole((role) => publicTexts(secrets[role]));
  return byRole((role) => ({ number, secret: secrets[role], public: everybody }));
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
