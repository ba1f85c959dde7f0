import type { Address, Role } from '@goshawk/core';
import { InvalidPartyNameError } from '../errors.js';
import { DEFAULT_LIMITS } from '../limits.js';
import {
  claimedRole,
  isClientEndpoint,
  parsePartyName,
  parseProcessName,
  partyName,
  placeOf,
} from './party-name.js';

/** A process that sent or received messages. */
export interface KnownProcess {
  readonly name: string;
  readonly endpoint: string;
  readonly incarnation: string;
  /** Role according to the name. */
  readonly role: Role | undefined;
  readonly place: string;
  /** Routing id of a client's connection to this process; undefined before its first message. */
  routingId: string | undefined;
  /** Its parties, by index. */
  readonly parties: Map<number, Address>;
  /** Counter value at the last message to or from it; eviction starts with the smallest. */
  lastUse: number;
}

interface KnownParty {
  readonly process: KnownProcess;
  readonly index: number;
}

/**
 * Maps party names to addresses and back. Memory is bounded: `forget` removes a party, and at `partiesMax` the least
 * recently used ones are evicted. Clients are evicted first, because they disappear without notice, while machines
 * still use the addresses of other parties. Parties of the process given to `keep` are never evicted. Addresses are
 * not reused, so a stale address is detected.
 */
export class Directory {
  readonly #parties = new Map<Address, KnownParty>();
  readonly #processes = new Map<string, KnownProcess>();
  #uses = 0;
  #nextAddress = 1;
  #kept: string | undefined;
  readonly #partiesMax: number;

  /** @throws RangeError unless there is room for two parties */
  constructor(partiesMax: number = DEFAULT_LIMITS.partiesMax) {
    if (!(partiesMax >= 2)) {
      throw new RangeError(`a directory must have room for 2 parties at least, not ${partiesMax}`);
    }
    this.#partiesMax = partiesMax;
  }

  /** Number of known parties. */
  get size(): number {
    return this.#parties.size;
  }

  /** Number of known processes that are not clients. */
  get members(): number {
    return [...this.#processes.values()].filter((process) => !isClient(process)).length;
  }

  /** @throws InvalidPartyNameError */
  intern(name: string): Address {
    const parsed = parsePartyName(name);
    const process = this.process(parsed.process);
    if (process === undefined) throw new InvalidPartyNameError(name);
    return this.internParty(process, parsed.index);
  }

  /** Returns the address of a name without assigning one. */
  find(name: string): Address | undefined {
    const parsed = parsePartyName(name);
    return this.#processes.get(parsed.process)?.parties.get(parsed.index);
  }

  nameOf(address: Address): string | undefined {
    const party = this.partyAt(address);
    return party && partyName(party.process.name, party.index);
  }

  /** Returns the routing id of a client's latest connection. */
  routingIdOf(process: string): string | undefined {
    return this.#processes.get(process)?.routingId;
  }

  /** Returns the role that a party claims by its name. With keys, receiving a message proves the claim. */
  roleOf(address: Address): Role | undefined {
    return this.#parties.get(address)?.process.role;
  }

  partyAt(address: Address): KnownParty | undefined {
    const party = this.#parties.get(address);
    if (party !== undefined) party.process.lastUse = ++this.#uses;
    return party;
  }

  /** Returns the process with this name, and adds it if it is new; undefined if the name is invalid. */
  process(name: string): KnownProcess | undefined {
    const known = this.#processes.get(name);
    if (known !== undefined) {
      known.lastUse = ++this.#uses;
      return known;
    }
    const parsed = parseProcessName(name);
    if (parsed === undefined) return undefined;
    const process = {
      name,
      ...parsed,
      role: claimedRole(parsed),
      place: placeOf(parsed),
      routingId: undefined,
      parties: new Map<number, Address>(),
      lastUse: ++this.#uses,
    };
    this.#processes.set(name, process);
    return process;
  }

  internParty(process: KnownProcess, index: number): Address {
    const known = process.parties.get(index);
    if (known !== undefined) return known;
    if (this.#parties.size >= this.#partiesMax) this.#evict(process);
    const address = this.#nextAddress++ as Address;
    this.#parties.set(address, { process, index });
    process.parties.set(index, address);
    return address;
  }

  forget(address: Address): void {
    const party = this.#parties.get(address);
    if (party === undefined) return;
    this.#parties.delete(address);
    party.process.parties.delete(party.index);
    if (party.process.parties.size === 0) this.#processes.delete(party.process.name);
  }

  /** Exempts a process from eviction. */
  keep(process: string): void {
    this.#kept = process;
  }

  /**
   * Evicts a sixteenth of all parties, so that a full directory is not sorted for every message.
   *
   * @param forWhom the process to make room for; it is evicted last
   */
  #evict(forWhom: KnownProcess): void {
    const target = this.#partiesMax - Math.ceil(this.#partiesMax / 16);
    const order = [...this.#processes.values()]
      .filter((process) => process.name !== this.#kept && process !== forWhom)
      .sort((a, b) => Number(isClient(b)) - Number(isClient(a)) || a.lastUse - b.lastUse);
    for (const process of [...order, forWhom]) {
      for (const address of process.parties.values()) {
        if (this.#parties.size <= target) return;
        this.forget(address);
      }
    }
  }
}

function isClient({ endpoint }: KnownProcess): boolean {
  return isClientEndpoint(endpoint);
}
