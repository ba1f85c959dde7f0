import {
  type Address,
  AddressSet,
  couldRun,
  drawIndex,
  drawTo,
  fits,
  hasRequired,
  isIn,
  isPlain,
  type Member,
  type MessageOf,
  type Millis,
  NO_RESOURCES,
  NOBODY,
  type PolicySettings,
  type Requiring,
  type Scope,
  setLatest,
  type TaskNeeds,
} from '@goshawk/core';

interface ProbeDraw {
  readonly how: PolicySettings['probeDraw'];
  readonly scope: Scope;
  readonly needs: TaskNeeds;
  readonly count: number;
  /** Distinct draws use workers occupied by long tasks only if no others are left. Default: false. */
  readonly avoidsOccupied?: boolean;
}

/**
 * The workers as reported by central, and random draws among them. A worker with several slots appears once per slot,
 * because every slot counts as a separate server (Hawk §4.1).
 */
export class Members {
  readonly #byAddress = new Map<Address, Member>();
  /** The keys of `#byAddress`. Every message of a worker asks for one. */
  readonly #addresses = new AddressSet();
  /** The workers as an array; undefined after a change. */
  #all: readonly Member[] | undefined;
  /** Cached answers to queries over all workers, until the next change. */
  readonly #queryCache = new Map<string, unknown>();
  /**
   * One element per slot for each scope. Draws without replacement shuffle the array in place, so that a draw of k
   * costs O(k).
   */
  readonly #slotAddresses = new Map<Scope, Int32Array>();
  #version = 0;
  /**
   * Workers that the current central has not reported, with the time of the last evidence: those known to the
   * previous central, and those that it matched before it reported them.
   */
  readonly #unconfirmed = new Map<Address, Millis>();
  /** Names of workers that central has not reported yet. */
  readonly #knownNames = new Map<Address, string>();
  /** Names of workers known to an earlier incarnation of this scheduler. */
  readonly #formerNames: string[] = [];
  readonly #formerAddresses = new Map<string, Address>();
  /** Names of recently lost or departed workers; undefined for those that central never named. */
  readonly #gone = new Map<Address, string | undefined>();
  /** Marks workers with slots for long tasks only, by central's worker index. */
  #occupied: Uint8Array = NONE_OCCUPIED;
  /** Whether the next complete list renumbers the workers. Until then the old numbers are valid. */
  #isRenumbered = false;

  get version(): number {
    return this.#version;
  }

  get size(): number {
    return this.#byAddress.size;
  }

  /** Number of slots of all workers that accept tasks. */
  get slotCount(): number {
    return this.#slotAddressesIn('all').length;
  }

  get(address: Address): Member | undefined {
    return this.#byAddress.get(address);
  }

  has(address: Address): boolean {
    return this.#addresses.has(address);
  }

  /**
   * Whether central, or the previous one, has reported the worker or matched it. Others get no tasks: central may have
   * refused them, and does not report their loss.
   */
  isAdmitted(address: Address): boolean {
    return this.has(address) || this.#unconfirmed.has(address);
  }

  /** Whether the worker was known and has left. */
  isGone(address: Address): boolean {
    return this.#gone.size > 0 && this.#gone.has(address);
  }

  nameOf(address: Address): string | undefined {
    if (address < NOBODY) return this.#formerNames[NOBODY - 1 - address];
    return this.#byAddress.get(address)?.name ?? this.#knownNames.get(address) ?? this.#gone.get(address);
  }

  /** Names a worker that central will report soon. */
  setName(address: Address, name: string): void {
    if (!this.has(address)) this.#knownNames.set(address, name);
  }

  /** Returns a placeholder address below `NOBODY` for a worker that is known only by name. */
  formerAddressOf(name: string): Address {
    let address = this.#formerAddresses.get(name);
    if (address === undefined) {
      address = (NOBODY - 1 - this.#formerNames.length) as Address;
      this.#formerNames.push(name);
      this.#formerAddresses.set(name, address);
    }
    return address;
  }

  /**
   * Prepares for the list of a new central. Workers register one by one, so a worker that is missing from the
   * first list is not gone.
   */
  centralChanged(): void {
    this.#version = 0;
    this.#isRenumbered = true;
    for (const { address } of this.all()) this.#unconfirmed.set(address, Number.NEGATIVE_INFINITY);
  }

  /** Records that central has matched a worker or placed a task there. It must report an unknown worker soon. */
  matched(address: Address, now: Millis): void {
    if (this.has(address) || this.#unconfirmed.has(address)) return;
    this.#unconfirmed.set(address, now);
  }

  /** @returns workers that central should have reported since then; they are gone now */
  dropUnconfirmed(since: Millis): readonly Address[] {
    const gone = [...this.#unconfirmed].filter(([, at]) => at <= since).map(([address]) => address);
    for (const address of gone) this.#drop(address);
    if (gone.length > 0) this.#changed();
    return gone;
  }

  /**
   * @returns the workers that are gone; undefined if the update is not based on the known version, so a full list
   * must be requested
   */
  apply(message: MessageOf<'members'>): readonly Address[] | undefined {
    let gone = message.left;
    if (message.version < this.#version) return [];
    if (message.since === 0) {
      if (this.#isRenumbered) this.#occupied = NONE_OCCUPIED;
      this.#isRenumbered = false;
      if (this.size > 0) {
        const present = new Set(message.changed.map((member) => member.address));
        gone = this.all()
          .map(({ address }) => address)
          .filter((address) => !present.has(address) && !this.#unconfirmed.has(address));
      }
    } else if (message.since !== this.#version) {
      return message.version === this.#version ? [] : undefined;
    }
    for (const address of gone) this.#drop(address);
    for (const member of message.changed) {
      const { address } = member;
      this.#byAddress.set(address, member);
      this.#addresses.add(address);
      if (this.#unconfirmed.size > 0) this.#unconfirmed.delete(address);
      if (this.#gone.size > 0) this.#gone.delete(address);
      if (this.#knownNames.size > 0) this.#knownNames.delete(address);
    }
    this.#version = message.version;
    this.#changed();
    return gone;
  }

  /**
   * Draws `count` random slots for probes within a scope, on workers that can hold the demand. Distinct draws are
   * without replacement and start over when all slots are used, so that every slot gets ⌊count ÷ slots⌋ or one more;
   * independent draws are with replacement.
   */
  draw(
    { how, scope, needs, count, avoidsOccupied = false }: ProbeDraw,
    source: { random(): number },
    visit: (to: Address) => void,
  ): void {
    const pool = this.#fitting(this.#slotAddressesIn(scope), needs);
    if (pool.length === 0) return;
    if (how === 'independent') {
      for (let i = 0; i < count; i++) visit(pool[drawIndex(source, pool.length)] as Address);
      return;
    }
    const skipsOccupied = avoidsOccupied && count < pool.length && this.#occupied.length > 0;
    let left = count;
    for (; left >= pool.length; left -= pool.length) for (const address of pool) visit(address as Address);
    // The first steps of a Fisher–Yates shuffle. The array stays shuffled, which does not affect later draws.
    const occupied: Address[] = [];
    for (let i = 0; i < pool.length && left > 0; i++) {
      const drawn = drawTo(i, pool, source) as Address;
      if (skipsOccupied && this.isOccupied(drawn)) occupied.push(drawn);
      else {
        visit(drawn);
        left--;
      }
    }
    for (let i = 0; i < left; i++) visit(occupied[i]!);
  }

  /** Sets the bitmap from central. The bits are shared with the message, so they are never modified in place. */
  setOccupied(bits: Uint8Array): void {
    this.#occupied = bits;
  }

  /** Marks the worker as not occupied, because an absent central publishes no bitmap. */
  setUnoccupied(worker: Address): void {
    if (!this.isOccupied(worker)) return;
    const { row } = this.#byAddress.get(worker)!;
    this.#occupied = this.#occupied.slice();
    this.#occupied[row >> 3]! &= ~(1 << (row & 7));
  }

  /** Whether every slot of the worker is known to run a long task. */
  isOccupied(worker: Address): boolean {
    const row = this.#byAddress.get(worker)?.row;
    return row !== undefined && ((this.#occupied[row >> 3] ?? 0) & (1 << (row & 7))) !== 0;
  }

  /** Whether a probe may be sent to the worker. */
  mayProbe(worker: Address, scope: Scope, needs: TaskNeeds): boolean {
    const member = this.#byAddress.get(worker);
    if (member === undefined || member.draining || !isIn(member, this.reachableScope(scope))) return false;
    return couldRun(member, needs) && !this.isOccupied(worker);
  }

  /** Value of the worker's attribute; undefined: unknown, or it has none. */
  attributeOf(worker: Address, name: string): string | undefined {
    return this.get(worker)?.attributes.find((each) => each.name === name)?.value;
  }

  /** Whether the worker is known and meets the requirements. */
  meetsRequirements(worker: Address, requiring: Requiring): boolean {
    const member = this.get(worker);
    return member !== undefined && hasRequired(member, requiring);
  }

  /**
   * Returns the scope in which to find workers. A single worker serves both partitions, because jobs of the
   * other partition would wait forever. If another worker exists but drains, these jobs wait for it.
   */
  reachableScope(scope: Scope): Scope {
    return this.size === 1 ? 'all' : scope;
  }

  all(): readonly Member[] {
    this.#all ??= [...this.#byAddress.values()];
    return this.#all;
  }

  /** Caches the answer to a query over all workers until the next change. */
  memoized<T>(key: string, compute: () => T): T {
    const known = this.#queryCache.get(key);
    if (known !== undefined || this.#queryCache.has(key)) return known as T;
    const found = compute();
    if (this.#queryCache.size >= CACHED_QUERIES_MAX) this.#queryCache.clear();
    this.#queryCache.set(key, found);
    return found;
  }

  #changed(): void {
    this.#all = undefined;
    this.#queryCache.clear();
    this.#slotAddresses.clear();
  }

  #drop(address: Address): void {
    const name = this.nameOf(address);
    this.#byAddress.delete(address);
    this.#addresses.delete(address);
    this.#knownNames.delete(address);
    this.#unconfirmed.delete(address);
    setLatest(this.#gone, address, name, GONE_MAX);
  }

  #slotAddressesIn(scope: Scope): Int32Array {
    let places = this.#slotAddresses.get(scope);
    if (places === undefined) {
      places = slotAddressesOf(this.all(), this.reachableScope(scope));
      this.#slotAddresses.set(scope, places);
    }
    return places;
  }

  get #allFitPlainTasks(): boolean {
    return this.memoized('all fit plain tasks', () =>
      [...this.all()].every(({ capacity }) => fits(NO_RESOURCES, capacity)),
    );
  }

  #fitting(places: Int32Array, needs: TaskNeeds): Int32Array {
    if (isPlain(needs) && this.#allFitPlainTasks) return places;
    return places.filter((address) => couldRun(this.get(address as Address)!, needs));
  }
}

/** Maximum number of cached answers. Few kinds of needs exist, so a small cache suffices. */
const CACHED_QUERIES_MAX = 1_000;

const NONE_OCCUPIED = new Uint8Array();

/** Maximum number of gone workers to keep. Late messages arrive soon, so only the latest workers matter. */
const GONE_MAX = 10_000;

/** One address per slot of the active workers in a scope, in order. */
function slotAddressesOf(members: Iterable<Member>, scope: Scope): Int32Array {
  const addresses: number[] = [];
  for (const member of members) {
    if (member.draining || !isIn(member, scope)) continue;
    for (let slot = 0; slot < member.slots; slot++) addresses.push(member.address);
  }
  return Int32Array.from(addresses);
}
