import { ROLES, type Role } from '@goshawk/core';
import { KEY_SCHEMA, type KeyFile, type KeyGeneration, type KeyTexts } from './key-file.js';
import { newSecret, publicOf } from './raw-keys.js';

/** The key files of a cluster, one for each role. */
export type ClusterKeys = Readonly<Record<Role, KeyFile>>;

/** New keys for a new cluster. */
export function generateKeys(): ClusterKeys {
  return toFiles([newGeneration(1)]);
}

export type RotationStep = 'prepared' | 'switched' | 'finished';

/**
 * One step of a rotation; after each, all processes are restarted, in any order and one at a time. Two keys
 * are accepted all the while, and a process that has taken a step works with one that has not:
 *
 * - prepared: everybody knows the new keys, and uses the old ones;
 * - switched: everybody uses the new keys, and accepts the old ones;
 * - finished: the old ones are forgotten.
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

/** The same for every role, but for the secret. */
type GenerationByRole = Readonly<Record<Role, KeyGeneration>>;

function newGeneration(number: number): GenerationByRole {
  const secrets = byRole(() => ({ curve: newSecret('x25519'), sign: newSecret('ed25519') }));
  const everybody = byRole((role): KeyTexts => {
    const { curve, sign } = secrets[role];
    return { curve: text(publicOf('x25519', curve)), sign: text(publicOf('ed25519', sign)) };
  });
  return byRole((role) => {
    const { curve, sign } = secrets[role];
    return { number, secret: { curve: text(curve), sign: text(sign) }, public: everybody };
  });
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
