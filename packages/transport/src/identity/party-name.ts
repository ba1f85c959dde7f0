import type { Role } from '@goshawk/core';
import { InvalidPartyNameError } from '../errors.js';
import { PARTY_INDEX_MAX, PROCESS_NAME_BYTES_MAX } from '../limits.js';

/**
 * Names on the wire.
 *
 *     process   <endpoint>!<incarnation>              tcp://10.0.0.7:7000!w.V1StGXR8_Z5jdHi6B-myT
 *               <endpoint>!<letter>.<key>.<id>          with an individual key, by its name
 *     client    client:<id>!<incarnation>             client:9dKqv3…!V1StGXR8_Z5jdHi6B-myT
 *               client:<key>.<id>!<incarnation>         with an individual key, by its name
 *     party     <process>/<index>                     tcp://10.0.0.7:7000!w.V1StGXR8_Z5jdHi6B-myT/3
 *
 * An incarnation begins with the letter of its role. That is only a claim; with keys it must be proven
 * (`identification.ts`).
 *
 * The incarnation `*` stands for the current process at the endpoint. A process uses it for a configured endpoint until
 * the first message from there arrives. `c.*` stands for the current central at an endpoint.
 */
export const ANY_INCARNATION = '*';

const ROLE_OF_LETTER: Readonly<Record<string, Role>> = { c: 'central', s: 'scheduler', w: 'worker' };

const CLIENT_PREFIX = 'client:';
const INCARNATION = /^(?:[csw]\.(?:[A-Za-z0-9_-]{1,64}\.)?)?(?:[A-Za-z0-9_-]{1,64}|\*)$/;
const INDEX = /^(?:0|[1-9][0-9]{0,4})$/;

export interface ProcessName {
  readonly endpoint: string;
  readonly incarnation: string;
}

export interface PartyName {
  /** Name of the process. */
  readonly process: string;
  /** Index of the party in its process, `0 .. PARTY_INDEX_MAX`. */
  readonly index: number;
}

/** Joins endpoint and incarnation: `tcp://host:7070!a1`. */
export function processName(endpoint: string, incarnation: string): string {
  return `${endpoint}!${incarnation}`;
}

/** Name of a party in a process: `tcp://host:7070!a1/0`. */
export function partyName(process: string, index: number): string {
  return `${process}/${index}`;
}

/** @param key name of the individual key */
export function clientEndpoint(id: string, key?: string): string {
  return CLIENT_PREFIX + (key === undefined ? id : `${key}.${id}`);
}

/** Returns the name of the individual key that a process claims. */
export function claimedKey({ endpoint, incarnation }: ProcessName): string | undefined {
  if (!isClientEndpoint(endpoint)) {
    const [, key, id] = incarnation.split('.');
    return id === undefined ? undefined : key;
  }
  const dot = endpoint.indexOf('.');
  return dot < 0 ? undefined : endpoint.slice(CLIENT_PREFIX.length, dot);
}

/** Returns whether the process is a client, which does not listen and is reachable only over its own connection. */
export function isClientEndpoint(endpoint: string): boolean {
  return endpoint.startsWith(CLIENT_PREFIX);
}

/**
 * Returns the incarnation of a process of this role; the incarnation of a client has no letter, because its endpoint
 * identifies it.
 *
 * @param key name of the individual key
 */
export function incarnationOf(role: Role, id: string, key?: string): string {
  if (role === 'client') return id;
  return `${role.charAt(0)}.${key === undefined ? '' : `${key}.`}${id}`;
}

/** Returns a wildcard for any incarnation with this role. */
export function anyIncarnationOf(role: Role): string {
  return incarnationOf(role, ANY_INCARNATION);
}

/** Returns whether the incarnation is a wildcard. */
export function isAnyIncarnation(incarnation: string): boolean {
  return incarnation.endsWith(ANY_INCARNATION);
}

/** Returns the role that a process claims by its name; undefined if it claims none. */
export function claimedRole({ endpoint, incarnation }: ProcessName): Role | undefined {
  if (isClientEndpoint(endpoint)) return 'client';
  return incarnation.charAt(1) === '.' ? ROLE_OF_LETTER[incarnation.charAt(0)] : undefined;
}

/**
 * Returns the endpoint and role of a process, which identify it across incarnations. Includes its individual key, so
 * that a process with another key cannot supersede it.
 */
export function placeOf(process: ProcessName): string {
  const role = claimedRole(process);
  if (role === undefined || role === 'client') return process.endpoint;
  const key = claimedKey(process);
  return `${role}${key === undefined ? '' : `.${key}`} ${process.endpoint}`;
}

export function isIncarnation(value: unknown): value is string {
  return typeof value === 'string' && INCARNATION.test(value);
}

/** Parses a process name, which may come from a peer; undefined if it is invalid. */
export function parseProcessName(name: string): ProcessName | undefined {
  const mark = name.lastIndexOf('!');
  const incarnation = name.slice(mark + 1);
  if (mark <= 0 || name.length > PROCESS_NAME_BYTES_MAX || !INCARNATION.test(incarnation)) return undefined;
  return { endpoint: name.slice(0, mark), incarnation };
}

/** @throws InvalidPartyNameError */
export function parsePartyName(name: string): PartyName {
  const slash = name.lastIndexOf('/');
  const process = name.slice(0, Math.max(slash, 0));
  const digits = name.slice(slash + 1);
  const index = Number(digits);
  if (!INDEX.test(digits) || index > PARTY_INDEX_MAX || parseProcessName(process) === undefined) {
    throw new InvalidPartyNameError(name);
  }
  return { process, index };
}

export function isPartyIndex(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= PARTY_INDEX_MAX;
}
