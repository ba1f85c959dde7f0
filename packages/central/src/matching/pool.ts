import {
  type Address,
  amountOf,
  drawIndex,
  type Environment,
  type MessageOf,
  type Millis,
  type Resources,
} from '@goshawk/core';
import type { Need } from './needs.js';

/** A match that its worker has not heard of yet, as far as is known here. */
export interface OpenMatch {
  readonly match: number;
  readonly owner: Address;
  readonly job: number;
  readonly long: boolean;
  readonly demand: Resources;
  /** When it was made, or its owner was last asked what became of it. */
  at: Millis;
}

/** A worker as its last `pull` and the matches since then make it. */
export interface Puller {
  readonly address: Address;
  /** Its bit in what schedulers are told of the occupied. */
  readonly bit: number;
  readonly slots: number;
  readonly capacity: Resources;
  /** It takes work. */
  open: boolean;
  /** As it said itself. */
  free: number;
  spare: Resources;
  long: number;
  /** Number of the last match. */
  match: number;
  /** Matches that it had not heard of when it last pulled. */
  matches: OpenMatch[];
  /** What is free here is kept for this job until it is enough. */
  heldFor: Need | undefined;
  /** Its place in the list of the free, or −1. */
  place: number;
}

/** The workers with a free slot, from whom one can be drawn at random. */
export class Pool {
  readonly #pullers = new Map<Address, Puller>();
  readonly #free: Puller[] = [];
  #slots = 0;
  #long = 0;
  #longChanges = 0;

  /** Of all workers that take work. */
  get slots(): number {
    return this.#slots;
  }

  /** Long tasks that run, or are on their way to a worker. */
  get long(): number {
    return this.#long;
  }

  /** Grows whenever a worker runs more or fewer of those than before. */
  get longChanges(): number {
    return this.#longChanges;
  }

  /** Workers with a free slot, in no order. */
  get freePullers(): readonly Puller[] {
    return this.#free;
  }

  /** How many those are. */
  get free(): number {
    return this.#free.length;
  }

  get(address: Address): Puller | undefined {
    return this.#pullers.get(address);
  }

  add(address: Address, bit: number, slots: number, capacity: Resources): Puller {
    const puller: Puller = {
      address,
      bit,
      slots,
      capacity,
      open: false,
      free: 0,
      spare: capacity,
      long: 0,
      match: 0,
      matches: [],
      heldFor: undefined,
      place: -1,
    };
    this.#pullers.set(address, puller);
    return puller;
  }

  remove(address: Address): void {
    const puller = this.#pullers.get(address);
    if (puller === undefined) return;
    this.setOpen(puller, false);
    this.#addLong(-longOf(puller));
    this.#pullers.delete(address);
  }

  setOpen(puller: Puller, open: boolean): void {
    if (puller.open === open) return;
    puller.open = open;
    this.#slots += open ? puller.slots : -puller.slots;
    this.list(puller);
  }

  /** What the worker says replaces what was believed; matches that it has not heard of still count. */
  pulled(puller: Puller, { heard, free, spare, long }: MessageOf<'pull'>): void {
    const longBefore = longOf(puller);
    puller.free = free;
    puller.spare = spare;
    puller.long = long;
    // Another central may have counted further.
    for (const match of heard) puller.match = Math.max(puller.match, match);
    if (puller.matches.length > 0)
      puller.matches = puller.matches.filter(({ match }) => !heard.includes(match));
    this.#addLong(longOf(puller) - longBefore);
    this.list(puller);
  }

  match(puller: Puller, match: Omit<OpenMatch, 'match'>): number {
    puller.matches.push({ ...match, match: ++puller.match });
    if (match.long) this.#addLong(1);
    this.list(puller);
    return puller.match;
  }

  /** The match came to nothing: its slot is free again. */
  undo(puller: Puller, match: number): OpenMatch | undefined {
    const index = puller.matches.findIndex((open) => open.match === match);
    if (index < 0) return undefined;
    const [undone] = puller.matches.splice(index, 1);
    if (undone!.long) this.#addLong(-1);
    this.list(puller);
    return undone;
  }

  /** Matches of which their workers have not heard. */
  get openMatches(): number {
    let open = 0;
    for (const { matches } of this.#pullers.values()) open += matches.length;
    return open;
  }

  /** A worker with a free slot, uniformly at random among those that suit, or undefined. */
  draw(source: { random(): number }, suits: (puller: Puller) => boolean): Puller | undefined {
    const free = this.#free;
    for (let tries = 0; tries < TRIES && free.length > 0; tries++) {
      const puller = free[drawIndex(source, free.length)]!;
      if (suits(puller)) return puller;
    }
    const suitable = free.filter(suits);
    return suitable.length === 0 ? undefined : suitable[drawIndex(source, suitable.length)];
  }

  /** Of those that suit among a few drawn at random, or else among all, the one with the least to spare. */
  drawTightest(source: { random(): number }, suits: (puller: Puller) => boolean): Puller | undefined {
    const free = this.#free;
    const drawn: Puller[] = [];
    for (let tries = 0; tries < CANDIDATES && free.length > 0; tries++) {
      const puller = free[drawIndex(source, free.length)]!;
      if (suits(puller)) drawn.push(puller);
    }
    let tightest: Puller | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const puller of drawn.length > 0 ? drawn : free.filter(suits)) {
      const share = spareShare(puller);
      if (share >= least) continue;
      tightest = puller;
      least = share;
    }
    return tightest;
  }

  *[Symbol.iterator](): Iterator<Puller> {
    yield* this.#pullers.values();
  }

  /** Puts the worker on the list of the free, or takes it off. */
  list(puller: Puller): void {
    const isFree = puller.open && freeSlots(puller) > 0;
    if (isFree === puller.place >= 0) return;
    if (isFree) {
      puller.place = this.#free.length;
      this.#free.push(puller);
    } else {
      const last = this.#free.pop()!;
      if (last !== puller) {
        this.#free[puller.place] = last;
        last.place = puller.place;
      }
      puller.place = -1;
    }
  }

  #addLong(tasks: number): void {
    if (tasks === 0) return;
    this.#long += tasks;
    this.#longChanges++;
  }
}

/** Slots that the worker could take a task in. */
export function freeSlots({ free, matches }: Puller): number {
  return free - matches.length;
}

/** Long tasks that run there, or are on their way. */
export function longOf({ long, matches }: Puller): number {
  let sum = long;
  for (const match of matches) if (match.long) sum++;
  return sum;
}

/** What is free at the worker beside its slots, when those that were matched with it have come. */
export function spareOf({ spare, matches }: Puller): Resources {
  if (matches.length === 0) return spare;
  const left: Record<string, number> = {};
  for (const name in spare) {
    left[name] = amountOf(spare, name) - matches.reduce((sum, { demand }) => sum + amountOf(demand, name), 0);
  }
  return left;
}

/** What is free there, each resource over what the worker has of it. */
function spareShare(puller: Puller): number {
  const spare = spareOf(puller);
  let share = freeSlots(puller) / puller.slots;
  for (const name in puller.capacity) {
    const has = amountOf(puller.capacity, name);
    if (has > 0) share += amountOf(spare, name) / has;
  }
  return share;
}

/** Workers drawn before all are looked at. */
const TRIES = 8;
/** Workers of which the tightest is taken. */
const CANDIDATES = 32;

/**
 * Whether the worker should say again what is free there: it is busy with less than is believed here, and no match can
 * still be on its way to it.
 *
 * @param lostAfterMs for how long a match may be on its way
 */
export function isDoubtful(puller: Puller, busy: number, lostAfterMs: Millis, now: Millis): boolean {
  if (!puller.open || puller.slots - busy <= freeSlots(puller)) return false;
  return puller.matches.every(({ at }) => now - at >= lostAfterMs);
}

/**
 * Workers that the owner of a need has not heard of yet are on their way to it, if they were found just now.
 *
 * @param heard workers that it has heard of, as it says itself
 * @param lostAfterMs for how long a match may be on its way; 0: whatever is sent arrives
 */
export function matchesOnTheWay(
  { matches, waitsSince }: Pick<Need, 'matches' | 'waitsSince'>,
  heard: number,
  lostAfterMs: Millis,
  now: Millis,
): number {
  return lostAfterMs === 0 || now - waitsSince < lostAfterMs ? matches - heard : 0;
}

/**
 * The worker has not heard of a match that should have come to it long ago: its owner is to see to it.
 *
 * @param lostAfterMs for how long a match may be on its way; 0: whatever is sent arrives
 */
export function remindOwners(
  env: Pick<Environment, 'send'>,
  { address: worker, matches }: Puller,
  lostAfterMs: Millis,
  now: Millis,
): void {
  if (lostAfterMs === 0) return;
  for (const open of matches) {
    if (now - open.at < lostAfterMs) continue;
    open.at = now;
    env.send(open.owner, { type: 'unheard', job: open.job, worker, match: open.match });
  }
}
