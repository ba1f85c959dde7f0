import type { KeyObject } from 'node:crypto';
import { type ClientKey, ROLES, type Role } from '@goshawk/core';
import { z85 } from './curve-text.js';
import { badKeys, type KeyFile, type KeyGeneration, type KeyTexts } from './key-file.js';
import { privateKey, publicKey, publicOf } from './raw-keys.js';

/** The keys of one process, ready for use. */
export interface KeyRing {
  readonly role: Role;
  /** The first is in use; the second is accepted during a rotation. */
  readonly generations: readonly [Keys, ...Keys[]];
  /** Name of a client with an individual key. */
  readonly name: string | undefined;
  /** Clients with individual keys, by name. */
  readonly clients: ReadonlyMap<string, ClientKey & PeerKeys>;
  /** The file that the keys were read from, which may change, and its version (`fileVersion`). */
  readonly path?: string | undefined;
  readonly version?: string | undefined;
}

export interface Keys {
  /** In Z85, as ZeroMQ expects them. */
  readonly curve: { readonly publicKey: string; readonly secretKey: string };
  readonly signing: KeyObject;
  readonly peers: Readonly<Record<Role, PeerKeys>>;
}

interface PeerKeys {
  /** In Z85. */
  readonly curve: string;
  readonly verifying: KeyObject;
}

/** @throws InputError if its secret keys are not those of its role */
export function keyRing(file: KeyFile, source: string): KeyRing {
  const [inUse, ...others] = file.generations.map((generation) => readKeys(generation, file.role, source));
  const clients = (file.clients ?? []).map(
    (client) => [client.name, { ...peerKeys(client), name: client.name, rights: client.rights }] as const,
  );
  return { role: file.role, generations: [inUse!, ...others], name: file.name, clients: new Map(clients) };
}

function readKeys(generation: KeyGeneration, role: Role, source: string): Keys {
  const curve = bytes(generation.secret.curve);
  const sign = bytes(generation.secret.sign);
  const own: KeyTexts = {
    curve: publicOf('x25519', curve).toString('base64url'),
    sign: publicOf('ed25519', sign).toString('base64url'),
  };
  const published = generation.public[role];
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
