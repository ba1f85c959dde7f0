import type { KeyObject } from 'node:crypto';
import { type ClientKey, InputError, matchesGlob, ROLES, type Role } from '@goshawk/core';
import { z85 } from './curve-text.js';
import { badKeys, type KeyFile, type KeyGeneration, type KeyTexts, type MemberRole } from './key-file.js';
import { privateKey, publicKey, publicOf } from './raw-keys.js';
import type { WorkerBounds } from './worker-bounds.js';

/** The keys of one process, ready for use. */
export interface KeyRing {
  readonly role: Role;
  /** This process uses the first; peers may also use the second during a rotation. */
  readonly generations: readonly [Keys, ...Keys[]];
  /** Name of the key, if it belongs to one process. */
  readonly name: string | undefined;
  /** Clients with individual keys, by name. */
  readonly clients: ReadonlyMap<string, ClientKey & PeerKeys & Expiring>;
  /** Workers and schedulers with individual keys, by name. */
  readonly members: ReadonlyMap<string, Member>;
  /** Values of attributes that only keys which list them permit, by name. */
  readonly reserved: WorkerBounds['attributes'];
  /** The file that the keys were read from, which may change, and its version (`fileVersion`). */
  readonly path?: string | undefined;
  readonly version?: string | undefined;
}

export interface Keys {
  /** CURVE keys as Z85 text, the format of ZeroMQ. */
  readonly curve: { readonly publicKey: string; readonly secretKey: string };
  readonly signing: KeyObject;
  readonly peers: Readonly<Record<Role, PeerKeys>>;
}

interface Expiring {
  /** Wall-clock time in ms at which the key expires; `Infinity`: never. */
  readonly expiresAt: number;
}

export interface Member extends PeerKeys, Expiring {
  readonly role: MemberRole;
  readonly name: string;
  /** Patterns of the names that its process may take in the cluster. */
  readonly names: readonly string[];
  /** Limits what its workers may say about themselves. */
  readonly bounds: WorkerBounds;
}

interface PeerKeys {
  /** In Z85. */
  readonly curve: string;
  readonly verifying: KeyObject;
}

/** Parses the keys of a file. @throws InputError if they have expired, or do not match the public keys in the file */
export function keyRing(file: KeyFile, source: string, now = Date.now()): KeyRing {
  const { role, name } = file;
  if (expiryOf(file) <= now) {
    throw new InputError('expired-key', `the key ${source} expired on ${file.expires}`, 'get a new one');
  }
  const own = (file.members ?? []).find((member) => member.name === name && member.role === role);
  if (name !== undefined && role !== 'client' && own === undefined)
    throw badKeys(source, `it does not admit its own key ${name}`);
  const [inUse, ...others] = file.generations.map((generation) => readKeys(generation, role, source, own));
  const clients = (file.clients ?? []).map(
    (client) =>
      [
        client.name,
        { ...peerKeys(client), name: client.name, rights: client.rights, expiresAt: expiryOf(client) },
      ] as const,
  );
  const members = (file.members ?? []).map(
    (member) =>
      [
        member.name,
        {
          ...peerKeys(member),
          role: member.role,
          name: member.name,
          names: member.names ?? [member.name],
          bounds: { attributes: member.attributes, capacity: member.capacity },
          expiresAt: expiryOf(member),
        },
      ] as const,
  );
  const all = { role, generations: [inUse!, ...others], name, reserved: file.reserved } as const;
  return withoutExpired({ ...all, clients: new Map(clients), members: new Map(members) }, now);
}

/** Removes the individual keys that have expired. */
export function withoutExpired(ring: KeyRing, now: number): KeyRing {
  const valid = <T extends Expiring>(keys: ReadonlyMap<string, T>) =>
    new Map([...keys].filter(([, { expiresAt }]) => expiresAt > now));
  return { ...ring, clients: valid(ring.clients), members: valid(ring.members) };
}

/** Returns when the next individual key expires; `Infinity`: never. */
export function nextExpiry({ clients, members }: KeyRing): number {
  return [...clients.values(), ...members.values()].reduce(
    (first, { expiresAt }) => Math.min(first, expiresAt),
    Number.POSITIVE_INFINITY,
  );
}

/**
 * Returns whether a process may take this name in the cluster. A name that an individual key lists literally is
 * reserved for that key. A name that only matches patterns is reserved for the keys with these patterns.
 *
 * @param key the individual key of the process, if it has one
 */
export function permitsName({ members }: KeyRing, role: MemberRole, key: string | undefined, name: string) {
  const owners = [...members.values()].filter(
    (member) => member.role === role && member.names.includes(name),
  );
  if (owners.length > 0) return owners.some((owner) => owner.name === key);
  const matching = [...members.values()].filter(
    (member) => member.role === role && member.names.some((pattern) => matchesGlob(pattern, name)),
  );
  return key === undefined ? matching.length === 0 : matching.some((member) => member.name === key);
}

function expiryOf({ expires }: { readonly expires?: string | undefined }): number {
  return expires === undefined ? Number.POSITIVE_INFINITY : Date.parse(expires);
}

/** @param individual public keys of a member's individual key; undefined for the key of a role or a client */
function readKeys(generation: KeyGeneration, role: Role, source: string, individual?: KeyTexts): Keys {
  const curve = bytes(generation.secret.curve);
  const sign = bytes(generation.secret.sign);
  const own: KeyTexts = {
    curve: publicOf('x25519', curve).toString('base64url'),
    sign: publicOf('ed25519', sign).toString('base64url'),
  };
  const published = individual ?? generation.public[role];
  if (own.curve !== published.curve || own.sign !== published.sign) {
    throw badKeys(source, `its secret keys do not match the public keys of the ${role}`);
  }
  return {
    curve: { publicKey: z85(bytes(own.curve)), secretKey: z85(curve) },
    signing: privateKey('ed25519', sign),
    peers: Object.fromEntries(
      ROLES.map((peer) => [peer, peerKeys(generation.public[peer])]),
    ) as unknown as Record<Role, PeerKeys>,
  };
}

function peerKeys({ curve, sign }: KeyTexts): PeerKeys {
  return { curve: z85(bytes(curve)), verifying: publicKey('ed25519', bytes(sign)) };
}

function bytes(text: string): Buffer {
  return Buffer.from(text, 'base64url');
}
