import { type Address, type MessageOf, type Millis, NOBODY, rendezvous } from '@goshawk/core';
import type { Ledger, Refusal } from '../durability/ledger.js';

/** How long a scheduler that a new central has not listed counts as disconnected, in milliseconds. As long as at central. */
const ABSENT_OWNER_MS = 10 * 60_000;

/**
 * Assigns each key to one scheduler by rendezvous hashing over all schedulers, including disconnected ones, so that a
 * submission creates one job wherever it is sent. A restarted central learns of present schedulers one by one, and
 * never of absent ones. Schedulers known before and not yet reported count as disconnected, so that no other takes
 * over their keys.
 */
export class Keys {
  /** The name of this scheduler. */
  readonly #self: string;
  /** Owners of keys that an earlier incarnation recorded last. */
  #recordedOwners: readonly string[] = [];
  readonly #ledger: Pick<Ledger, 'schedulers'>;
  #owners: MessageOf<'members'>['owners'] = [];
  #version = 0;
  #central: Address = NOBODY;
  /** Schedulers that the current central has not listed yet, and since when. */
  #missing = new Map<string, Millis>();
  #recordedNames = '';
  #areOwnersKnown = false;
  /** Names of the other schedulers that are present or keep their jobs. */
  #others: readonly string[] = [];

  constructor(self: string, ledger: Pick<Ledger, 'schedulers'>) {
    this.#self = self;
    this.#ledger = ledger;
  }

  /** Loads the owners of keys that an earlier incarnation recorded. */
  loadOwners(formerly: readonly string[]): void {
    this.#recordedOwners = formerly;
    this.#recordedNames = sorted(formerly).join();
  }

  /** Version of the last list of schedulers. */
  get version(): number {
    return this.#version;
  }

  get others(): readonly string[] {
    return this.#others;
  }

  onMembers(central: Address, { owners, ownersVersion }: MessageOf<'members'>, now: Millis): void {
    if (central !== this.#central) {
      const before = this.#areOwnersKnown ? this.#owners.map(({ name }) => name) : this.#recordedOwners;
      for (const name of before) if (!this.#missing.has(name)) this.#missing.set(name, now);
      this.#central = central;
    } else if (ownersVersion < this.#version) {
      // With an outdated list, this scheduler would accept keys of others.
      return;
    }
    this.#areOwnersKnown = true;
    this.#version = ownersVersion;
    for (const { name } of owners) this.#missing.delete(name);
    for (const [name, since] of this.#missing) if (now - since > ABSENT_OWNER_MS) this.#missing.delete(name);
    this.#missing.delete(this.#self);
    this.#owners = [...owners, ...[...this.#missing.keys()].map((name) => ({ name, away: true }))];
    this.#setOthers(this.#owners);
    this.#recordOwners(now);
  }

  /**
   * Takes only the version of the list and the names of present schedulers: schedulers with a shared journal accept all
   * keys, and take over the jobs of disconnected ones.
   */
  onSharedMembers({ owners, ownersVersion }: MessageOf<'members'>): void {
    this.#version = ownersVersion;
    this.#setOthers(owners.filter(({ away }) => !away));
  }

  /** Why a new job with this key is refused; undefined: the key is this scheduler's, or its owner is unknown. */
  refusal(key: string): Refusal | undefined {
    if (!this.#areOwnersKnown) return OWNERS_UNKNOWN;
    const owner = rendezvous(key, this.#owners);
    if (owner === undefined || owner.name === this.#self) return undefined;
    return owner.away
      ? {
          code: 'owner-away',
          message: `the key belongs to scheduler ${owner.name}, which is down`,
          hint: 'try again once it is back',
        }
      : {
          code: 'other-scheduler',
          message: `the key belongs to scheduler ${owner.name}`,
          hint: 'try again once that scheduler answers',
        };
  }

  #setOthers(owners: MessageOf<'members'>['owners']): void {
    this.#others = owners.map(({ name }) => name).filter((name) => name !== this.#self);
  }

  #recordOwners(now: Millis): void {
    const names = sorted(this.#owners.map(({ name }) => name));
    if (names.join() === this.#recordedNames) return;
    this.#recordedNames = names.join();
    this.#ledger.schedulers(names, now);
  }
}

function sorted(names: readonly string[]): string[] {
  return [...names].sort();
}

const OWNERS_UNKNOWN: Refusal = {
  code: 'not-ready',
  message: 'this scheduler does not know the other schedulers of the cluster yet',
  hint: 'try again in a moment',
};
