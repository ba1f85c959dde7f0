import type { Address } from '@goshawk/core';
import { type BookedJob, BookedOwner } from './entries.js';

interface Rehomed {
  readonly owner: BookedOwner;
  /** Whether the owner was known at another address. */
  readonly isMoved: boolean;
  /** Owners that turned out to be this one, because workers reported their jobs before it enlisted. */
  readonly same: readonly BookedOwner[];
}

/**
 * Schedulers that own jobs, by tag and by address. A tag identifies a scheduler; its address changes when it restarts, or
 * when another scheduler takes over its journal.
 */
export class Owners {
  /** Owners by all of their addresses. */
  readonly #byAddress = new Map<Address, BookedOwner>();
  readonly #byTag = new Map<string, BookedOwner>();
  readonly #withJobs = new Set<BookedOwner>();

  /** Owners with at least one job. */
  get withJobs(): Iterable<BookedOwner> {
    return this.#withJobs;
  }

  /** Returns the owner with this current or former address; undefined: unknown. */
  find(address: Address): BookedOwner | undefined {
    return this.#byAddress.get(address);
  }

  /** Returns the owner with this address, and creates it if it is unknown. */
  at(address: Address): BookedOwner {
    const known = this.#byAddress.get(address);
    if (known !== undefined) return known;
    const owner = new BookedOwner(address);
    this.#byAddress.set(address, owner);
    return owner;
  }

  /**
   * Sets the address of the scheduler with this tag.
   *
   * @param formers earlier addresses, which workers may still use
   */
  rehome(tag: string, address: Address, formers: readonly Address[]): Rehomed {
    const owner = this.#byTag.get(tag) ?? this.at(address);
    const isMoved = owner.address !== address;
    const addresses = new Set([address, ...formers.filter((each) => this.#isFreeFor(each, tag))]);
    for (const each of owner.addresses) if (!addresses.has(each)) this.#byAddress.delete(each);
    const same: BookedOwner[] = [];
    for (const each of addresses) {
      const other = this.#byAddress.get(each);
      this.#byAddress.set(each, owner);
      if (other !== undefined && other !== owner) same.push(other);
    }
    owner.tag = tag;
    owner.isExpected = true;
    owner.addresses = [...addresses];
    this.#byTag.set(tag, owner);
    return { owner, isMoved, same };
  }

  /** Records that the owner is lost permanently, and that no other scheduler continues its jobs. */
  lost(address: Address): void {
    const owner = this.#byAddress.get(address);
    if (owner === undefined) return;
    owner.isExpected = false;
    this.#dropIfUnused(owner);
  }

  addJob(owner: BookedOwner, job: BookedJob): void {
    job.owner = owner;
    owner.jobs.set(job.number, job);
    this.#withJobs.add(owner);
  }

  removeJob({ owner, number }: BookedJob): void {
    owner.jobs.delete(number);
    if (owner.jobs.size > 0) return;
    this.#withJobs.delete(owner);
    this.#dropIfUnused(owner);
  }

  /** Whether no scheduler with another tag has enlisted at the address. */
  #isFreeFor(address: Address, tag: string): boolean {
    const known = this.#byAddress.get(address)?.tag;
    return known === undefined || known === tag;
  }

  #dropIfUnused(owner: BookedOwner): void {
    if (owner.isExpected || owner.jobs.size > 0) return;
    if (owner.tag !== undefined) this.#byTag.delete(owner.tag);
    for (const address of owner.addresses)
      if (this.#byAddress.get(address) === owner) this.#byAddress.delete(address);
  }
}
