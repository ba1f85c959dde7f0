import { sign, verify } from 'node:crypto';
import { MESSAGE_TYPES, MESSAGES, ROLES, type Role } from '@goshawk/core';
import type { KeyRing, Keys, Member } from '../keys/index.js';
import { PROCESS_NAME_BYTES_MAX } from '../limits.js';
import {
  claimedKey,
  claimedRole,
  isAnyIncarnation,
  isClientEndpoint,
  type ProcessName,
  parseProcessName,
} from './party-name.js';

/**
 * Authentication of peers. For each frame, ZeroMQ reports the routing id that the peer chose, but not the key that it
 * authenticated with: the ZAP request has no routing id, and zeromq.js does not expose the user id of the ZAP reply.
 * Therefore CURVE and ZAP only ensure that each peer has some key of the cluster. The routing id proves which one: it
 * is the process name, signed with the key of its role. The signature covers the recipient, too, so that a recipient
 * cannot replay it elsewhere, and it travels encrypted. In the other direction CURVE suffices: the dialer expects the
 * public key of the role in the process name, and an impostor without the secret key cannot reply.
 */
export interface Identification {
  /** Maximum size of a process name in bytes. */
  readonly nameBytesMax: number;
  /** Returns the ways to connect to a process, to be tried in turn; empty if its key is not admitted. */
  dialOptionsFor(peer: DialTarget): readonly DialOption[];
  /** Returns the peer that a routing id names; undefined if it names none or the proof is invalid. */
  recognize(routingId: string): IdentifiedPeer | undefined;
}

interface DialTarget {
  readonly endpoint: string;
  readonly role: Role | undefined;
  /** Name of its individual key, if it has one. */
  readonly key?: string | undefined;
}

/** One way to connect to a process. */
export interface DialOption {
  readonly routingId: string;
  /** Role that the peer has proven once connected; undefined without keys. */
  readonly role?: Role;
  /** Individual key that the peer has proven to have. */
  readonly key?: string | undefined;
  readonly curve?: {
    readonly curvePublicKey: string;
    readonly curveSecretKey: string;
    readonly curveServerKey: string;
  };
}

export interface IdentifiedPeer extends ProcessName {
  readonly name: string;
}

/** Identification without keys: claims are not verified. */
export class UnverifiedIdentification implements Identification {
  readonly nameBytesMax = PROCESS_NAME_BYTES_MAX;
  readonly #options: readonly DialOption[];

  /** @param process name of this process */
  constructor(process: string) {
    this.#options = [{ routingId: process }];
  }

  dialOptionsFor(): readonly DialOption[] {
    return this.#options;
  }

  recognize(routingId: string): IdentifiedPeer | undefined {
    const parsed = parseProcessName(routingId);
    if (parsed === undefined || isAnyIncarnation(parsed.incarnation)) return undefined;
    return { name: routingId, ...parsed };
  }
}

const MARK = '#';
/** An Ed25519 signature as base64url. */
const SIGNATURE_LENGTH = 86;
/** Maximum numbers of cached verified and rejected signatures. A signature that was evicted is verified again. */
const CACHED_SIGNATURES_MAX = 65_536;
const REFUSED_MAX = 1_024;
/** Endpoint in signatures for central, which has several names (a service, an address) but exists only once. */
const ANY_ENDPOINT = '';

/** Returns the roles that may send to this role. Includes the role itself, to detect two processes at one address. */
export function rolesAcceptedBy(role: Role): readonly Role[] {
  const accepted = MESSAGE_TYPES.map((type) => MESSAGES[type])
    .filter(({ to }) => (to as readonly Role[]).includes(role))
    .flatMap(({ from }): readonly Role[] => from);
  return ROLES.filter((other) => other === role || accepted.includes(other));
}

/** Identification with keys: names are signed, and connections use the public key of the role that a name claims. */
export class SignedIdentification implements Identification {
  readonly nameBytesMax = PROCESS_NAME_BYTES_MAX - MARK.length - SIGNATURE_LENGTH;
  readonly #process: string;
  readonly #endpoint: string;
  #ring: KeyRing;
  readonly #acceptedRoles: readonly Role[];
  readonly #known = new Map<string, IdentifiedPeer>();
  readonly #refused = new Map<string, true>();

  constructor(process: string, endpoint: string, ring: KeyRing) {
    this.#process = process;
    this.#endpoint = endpoint;
    this.#ring = ring;
    this.#acceptedRoles = rolesAcceptedBy(ring.role);
  }

  /** Switches to these keys. */
  rekey(ring: KeyRing): void {
    this.#ring = ring;
    this.#known.clear();
    this.#refused.clear();
  }

  /** Tries both roles if the peer's role is unknown: a client may be configured with central or a scheduler. */
  dialOptionsFor({ endpoint, role, key }: DialTarget): readonly DialOption[] {
    const { generations, members } = this.#ring;
    const known = key === undefined ? undefined : members.get(key);
    if (key !== undefined) return known?.role === role ? [this.#memberOption(known!, endpoint)] : [];
    const roles: readonly Role[] = role === undefined ? ['central', 'scheduler'] : [role];
    const shared = generations.flatMap((keys) =>
      roles.map((to) => this.#dialOption(keys, to, endpoint, keys.peers[to].curve)),
    );
    if (role !== undefined) return shared;
    const schedulers = [...members.values()].filter((member) => member.role === 'scheduler');
    return [...shared, ...schedulers.map((member) => this.#memberOption(member, endpoint))];
  }

  #memberOption({ role, name, curve }: Member, endpoint: string): DialOption {
    return { ...this.#dialOption(this.#ring.generations[0], role, endpoint, curve), key: name };
  }

  recognize(routingId: string): IdentifiedPeer | undefined {
    const known = this.#known.get(routingId);
    if (known !== undefined || this.#refused.has(routingId)) return known;
    const identified = this.#verify(routingId);
    if (identified === undefined) {
      cache(this.#refused, routingId, true, REFUSED_MAX);
    } else {
      cache(this.#known, routingId, identified, CACHED_SIGNATURES_MAX);
    }
    return identified;
  }

  #dialOption({ curve, signing }: Keys, role: Role, endpoint: string, curveServerKey: string): DialOption {
    const where = signedEndpoint(this.#ring.role, role, endpoint);
    const signature = sign(null, statement(this.#process, role, where), signing).toString('base64url');
    return {
      routingId: this.#process + MARK + signature,
      role,
      curve: {
        curvePublicKey: curve.publicKey,
        curveSecretKey: curve.secretKey,
        curveServerKey,
      },
    };
  }

  #verify(routingId: string): IdentifiedPeer | undefined {
    const mark = routingId.lastIndexOf(MARK);
    const name = routingId.slice(0, Math.max(mark, 0));
    const signature = routingId.slice(mark + 1);
    const parsed = parseProcessName(name);
    const role = parsed && claimedRole(parsed);
    if (
      parsed === undefined ||
      role === undefined ||
      !this.#acceptedRoles.includes(role) ||
      isAnyIncarnation(parsed.incarnation) ||
      signature.length !== SIGNATURE_LENGTH
    ) {
      return undefined;
    }
    const signed = statement(name, this.#ring.role, signedEndpoint(role, this.#ring.role, this.#endpoint));
    const bytes = Buffer.from(signature, 'base64url');
    const key = claimedKey(parsed);
    const signers = this.#signersOf(role, key);
    const isProven = signers.some(
      (signer) => signer !== undefined && verify(null, signed, signer.verifying, bytes),
    );
    return isProven ? { name, ...parsed } : undefined;
  }

  #signersOf(role: Role, key: string | undefined) {
    const { generations, clients, members } = this.#ring;
    if (key === undefined) return generations.map(({ peers }) => peers[role]);
    if (role === 'client') return [clients.get(key)];
    const member = members.get(key);
    return member?.role === role ? [member] : [];
  }
}

function cache<T>(map: Map<string, T>, key: string, value: T, sizeMax: number): void {
  if (map.size >= sizeMax) {
    const [oldest] = map.keys();
    map.delete(oldest as string);
  }
  map.set(key, value);
}

/**
 * Returns the endpoint to sign: none for central and for senders that are clients, whose configuration may use an
 * alias.
 */
function signedEndpoint(from: Role, to: Role, endpoint: string): string {
  return to === 'central' || from === 'client' || isClientEndpoint(endpoint) ? ANY_ENDPOINT : endpoint;
}

function statement(process: string, to: Role, endpoint: string): Buffer {
  return Buffer.from(`goshawk.introduction/1\n${process}\n${to}\n${endpoint}`);
}
