import {
  type Address,
  drawIndex,
  drawTo,
  type Member,
  type MessageOf,
  type Millis,
  NO_RESOURCES,
  NOBODY,
  type PolicySettings,
  type Requiring,
  type Scope,
  setLatest,
} from '@goshawk/core';
import { couldRun, hasRequired, isIn, type TaskNeeds } from './able-workers.js';

/**
 * The workers, as central has told them, and the drawing of random ones. A worker of several slots stands
 * in the draw once for each: every slot is treated like a machine of its own (Hawk §4.1).
 */
export class Members {
  readonly #byAddress = new Map<Address, Member>();
  /** The same in a list; undefined after a change. */
  #all: readonly Member[] | undefined;
  /** Answers to questions about all workers, until the next change. */
  readonly #answers = new Map<string, unknown>();
  /** Per scope, one element a slot. Draws of distinct ones shuffle them in place, so that a draw of k costs k. */
  readonly #places = new Map<Scope, Int32Array>();
  #version = 0;
  /**
   * Workers that the present central has not named, by the time since when: those that the last one had, and
   * those that were met before central told of them.
   */
  readonly #unconfirmed = new Map<Address, Millis>();
  /** Names of workers of which nothing else is known yet. */
  readonly #called = new Map<Address, string>();
  /** Names of workers that an earlier incarnation of the owner knew. */
  readonly #former: string[] = [];
  readonly #formerAddresses = new Map<string, Address>();
  /** The names of the last that were lost or have left; undefined of those that central never named. */
  readonly #gone = new Map<Address, string | undefined>();
  /** Marks workers with slots for long tasks only, by central's worker index. */
  #occupied: Uint8Array = NOBODY_OCCUPIED;
  /** The next whole list gives new places: until then the old ones hold, which may be a while. */
  #isRenumbered = false;

  get version(): number {
    return this.#version;
  }

  get size(): number {
    return this.#byAddress.size;
  }

  /** Slots of all workers that accept tasks. */
  get slotCount(): number {
    return this.#placesIn('all').length;
  }

  get(address: Address): Member | undefined {
    return this.#byAddress.get(address);
  }

  has(address: Address): boolean {
    return this.#byAddress.has(address);
  }

  /**
   * Whether the worker was here and is here no more. Nobody would say so again of what is given to it now. One
   * that was never heard of is not gone: central may have told others of it first.
   */
  isGone(address: Address): boolean {
    return this.#gone.size > 0 && this.#gone.has(address);
  }

  nameOf(address: Address): string | undefined {
    if (address < NOBODY) return this.#former[NOBODY - 1 - address];
    return this.#byAddress.get(address)?.name ?? this.#called.get(address) ?? this.#gone.get(address);
  }

  /** A worker that is about to be told of has this name. */
  isCalled(address: Address, name: string): void {
    if (!this.has(address)) this.#called.set(address, name);
  }

  /** Something to remember a worker by of which only the name is known: below `NOBODY`, and nobody's address. */
  formerly(name: string): Address {
    let address = this.#formerAddresses.get(name);
    if (address === undefined) {
      address = (NOBODY - 1 - this.#former.length) as Address;
      this.#former.push(name);
      this.#formerAddresses.set(name, address);
    }
    return address;
  }

  /**
   * A new central starts to count anew. Workers find it in their own time, so one that is not in its first list
   * is not gone for that.
   */
  startAnew(): void {
    this.#version = 0;
    this.#isRenumbered = true;
    for (const { address } of this.all()) this.#unconfirmed.set(address, Number.NEGATIVE_INFINITY);
  }

  /** A worker has asked for a task, or was given one. If central has not named it yet, it must do so before long. */
  met(address: Address, now: Millis): void {
    if (this.has(address) || this.#unconfirmed.has(address)) return;
    this.#unconfirmed.set(address, now);
  }

  /** @returns the workers of which central had to tell since then, and has not; they are gone now */
  dropUnconfirmed(since: Millis): readonly Address[] {
    const gone = [...this.#unconfirmed].filter(([, at]) => at <= since).map(([address]) => address);
    for (const address of gone) this.#drop(address);
    if (gone.length > 0) this.#changed();
    return gone;
  }

  /**
   * @returns the workers that are gone, or undefined when the change does not follow what is known here, so
   *   that all must be asked for again
   */
  apply(message: MessageOf<'members'>): readonly Address[] | undefined {
    let gone = message.left;
    if (message.version < this.#version) return [];
    if (message.since === 0) {
      if (this.#isRenumbered) this.#occupied = NOBODY_OCCUPIED;
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
      if (this.#unconfirmed.size > 0) this.#unconfirmed.delete(address);
      if (this.#gone.size > 0) this.#gone.delete(address);
      if (this.#called.size > 0) this.#called.delete(address);
    }
    this.#version = message.version;
    this.#changed();
    return gone;
  }

  /**
   * Draws `count` places for probes at random among the slots of a scope that can hold the demand. Distinct ones
   * are drawn without replacement, going round again when there are more probes than slots, so that every slot
   * gets ⌊count ÷ slots⌋ or one more; independent ones each by itself.
   *
   * @param avoidsOccupied distinct ones are taken at workers that are occupied by long tasks only when no others are left
   */
  draw(
    how: PolicySettings['probeDraw'],
    scope: Scope,
    needs: TaskNeeds,
    count: number,
    source: { random(): number },
    visit: (to: Address) => void,
    avoidsOccupied = false,
  ): void {
    const pool = this.#fitting(this.#placesIn(scope), needs);
    if (pool.length === 0) return;
    if (how === 'independent') {
      for (let i = 0; i < count; i++) visit(pool[drawIndex(source, pool.length)] as Address);
      return;
    }
    const isChoosy = avoidsOccupied && count < pool.length && this.#occupied.length > 0;
    let left = count;
    for (; left >= pool.length; left -= pool.length) for (const address of pool) visit(address as Address);
    // The first steps of a Fisher–Yates shuffle. The pool stays shuffled, which the next draw does not mind.
    const passedOver: Address[] = [];
    for (let i = 0; i < pool.length && left > 0; i++) {
      const drawn = drawTo(i, pool, source) as Address;
      if (isChoosy && this.isOccupied(drawn)) passedOver.push(drawn);
      else {
        visit(drawn);
        left--;
      }
    }
    for (let i = 0; i < left; i++) visit(passedOver[i]!);
  }

  /** By central's last message, with which the bits are shared: never changed in place. */
  setOccupied(bits: Uint8Array): void {
    this.#occupied = bits;
  }

  /** The worker has a slot that runs nothing long, which central, were it there, would tell. */
  setUnoccupied(worker: Address): void {
    if (!this.isOccupied(worker)) return;
    const { place } = this.#byAddress.get(worker)!;
    this.#occupied = this.#occupied.slice();
    this.#occupied[place >> 3]! &= ~(1 << (place & 7));
  }

  /** Every slot of the worker runs a long task, or did when central last told of it. */
  isOccupied(worker: Address): boolean {
    const place = this.#byAddress.get(worker)?.place;
    return place !== undefined && ((this.#occupied[place >> 3] ?? 0) & (1 << (place & 7))) !== 0;
  }

  /** Whether a probe may be sent to the worker. */
  takesProbe(worker: Address, scope: Scope, needs: TaskNeeds): boolean {
    const member = this.#byAddress.get(worker);
    if (member === undefined || member.draining || !isIn(member, this.reachOf(scope))) return false;
    return couldRun(member, needs) && !this.isOccupied(worker);
  }

  /** Whether the worker is known and has what is required. */
  mayRun(worker: Address, requiring: Requiring): boolean {
    const member = this.get(worker);
    return member !== undefined && hasRequired(member, requiring);
  }

  /**
   * One worker alone stands for both partitions: jobs of the other would wait for ever. Where another one drains they
   * wait for it, rather than behind the tasks that they are kept from.
   */
  reachOf(scope: Scope): Scope {
    return this.size === 1 ? 'all' : scope;
  }

  all(): readonly Member[] {
    this.#all ??= [...this.#byAddress.values()];
    return this.#all;
  }

  /** The answer to a question about all workers, which is worked out once between two changes. */
  remember<T>(question: string, answer: () => T): T {
    const known = this.#answers.get(question);
    if (known !== undefined || this.#answers.has(question)) return known as T;
    const found = answer();
    if (this.#answers.size >= ANSWERS_MAX) this.#answers.clear();
    this.#answers.set(question, found);
    return found;
  }

  #changed(): void {
    this.#all = undefined;
    this.#answers.clear();
    this.#places.clear();
  }

  #drop(address: Address): void {
    const name = this.nameOf(address);
    this.#byAddress.delete(address);
    this.#called.delete(address);
    this.#unconfirmed.delete(address);
    setLatest(this.#gone, address, name, GONE_MAX);
  }

  #placesIn(scope: Scope): Int32Array {
    let places = this.#places.get(scope);
    if (places === undefined) {
      places = placesOf(this.all(), this.reachOf(scope));
      this.#places.set(scope, places);
    }
    return places;
  }

  #fitting(places: Int32Array, needs: TaskNeeds): Int32Array {
    if (needs.demand === NO_RESOURCES && needs.requires === undefined) return places;
    return places.filter((address) => couldRun(this.get(address as Address)!, needs));
  }
}

/** Jobs that ask for the same come together, and there are few kinds of them. */
const ANSWERS_MAX = 1_000;

const NOBODY_OCCUPIED = new Uint8Array();

/** Late messages of lost workers arrive soon, so only the latest workers matter. */
const GONE_MAX = 10_000;

/** One address a slot of the workers of a scope that take work, in their order. */
function placesOf(members: Iterable<Member>, scope: Scope): Int32Array {
  const places: number[] = [];
  for (const member of members) {
    if (member.draining || !isIn(member, scope)) continue;
    for (let slot = 0; slot < member.slots; slot++) places.push(member.address);
  }
  return Int32Array.from(places);
}
