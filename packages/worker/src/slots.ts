import {
  type Address,
  addTo,
  fits,
  invariant,
  type MessageOf,
  type Millis,
  NO_RESOURCES,
  type Resources,
} from '@goshawk/core';
import type { OutputBuffer } from './output-buffer.js';
import type { Entry } from './queue.js';

/** A slot that serves a probe or a placed task holds still until the owner has answered: one round trip. */
export interface Asking {
  readonly kind: 'asking';
  readonly ask: number;
  readonly entry: Entry;
  sentAt: Millis;
  tries: number;
  /** The series that the slot is in; undefined when it serves what has waited here. */
  readonly series: Series | undefined;
}

/** Tiny tasks of one owner that run in a slot one after another: the end of each asks for the next. */
export interface Series {
  /** When its first task was given to the slot. */
  readonly since: Millis;
  /** The end of the last one. */
  readonly report: MessageOf<'ended'>;
}

export interface Running {
  readonly kind: 'running';
  /** Another incarnation of it may take over. */
  owner: Address;
  readonly job: number;
  readonly stage: number;
  readonly task: number;
  readonly attempt: number;
  /** Of the match that it came of; 0: central has no part in it. */
  readonly match: number;
  long: boolean;
  readonly demand: Resources;
  /** When the slot was given to this task, or to the first of its series. */
  readonly since: Millis;
  /** Central placed it and wants to hear of its start and end. */
  readonly placedByCentral: boolean;
  readonly estimateMs: number;
  readonly timeoutMs: number | undefined;
  startedAt: Millis;
  /** Its owner is gone: it was told to end, and nobody will confirm that. */
  orphaned: boolean;
  /** Created with the first byte that the task prints. */
  output: OutputBuffer | undefined;
}

export type Slot = { readonly kind: 'idle' } | Asking | Running;

const IDLE: Slot = { kind: 'idle' };

/** The places where tasks run, and what is free beside them. */
export class Slots {
  readonly #slots: Slot[];
  readonly #capacity: Resources;
  readonly #free: Record<string, number>;
  #idle: number;
  #runningLong = 0;
  /** Slots that serve short work, asking or running. */
  #shortInUse = 0;

  constructor(count: number, capacity: Resources) {
    this.#slots = new Array<Slot>(count).fill(IDLE);
    this.#capacity = capacity;
    this.#free = { ...capacity };
    this.#idle = count;
  }

  /** Matches that what runs came of. */
  get matches(): number[] {
    return this.#slots.flatMap((slot) => (slot.kind === 'running' && slot.match > 0 ? slot.match : []));
  }

  get count(): number {
    return this.#slots.length;
  }

  get idleCount(): number {
    return this.#idle;
  }

  get busyCount(): number {
    return this.#slots.length - this.#idle;
  }

  /** Slots that serve long work. */
  get longCount(): number {
    return this.#runningLong;
  }

  /** What is free beside the slots. */
  get spare(): Resources {
    return this.#capacity === NO_RESOURCES ? NO_RESOURCES : { ...this.#free };
  }

  /**
   * Whether what waits here waits behind long work: something long is served and nothing short. With one
   * slot that is "executes a long task" (Hawk §3.6); with several, a slot that runs short work will soon
   * be free.
   *
   * @param startedBefore a task that has run since then is long, whatever its job is taken for
   */
  executesLong(startedBefore: Millis): boolean {
    if (this.#runningLong > 0 && this.#shortInUse === 0) return true;
    if (startedBefore === Number.NEGATIVE_INFINITY || this.#idle === this.#slots.length) return false;
    return this.#slots.every(
      (slot) =>
        slot.kind === 'idle' ||
        (slot.kind === 'asking' ? slot.entry.long : slot.long || slot.startedAt <= startedBefore),
    );
  }

  at(index: number): Slot {
    return this.#slots[index]!;
  }

  fits(demand: Resources): boolean {
    return fits(demand, this.#free);
  }

  /** Starts to serve an entry in the first idle slot, whose index it returns; what it needs is taken from now on. */
  ask(entry: Entry, ask: number, now: Millis, series?: Series): number {
    const index = this.#slots.indexOf(IDLE);
    invariant(index >= 0, 'asked without an idle slot');
    const asking: Asking = { kind: 'asking', ask, entry, sentAt: now, tries: 1, series };
    this.#slots[index] = asking;
    this.#idle--;
    addTo(this.#free, entry.demand, -1);
    this.#count(entry.long, 1);
    return index;
  }

  get isAsking(): boolean {
    return this.#slots.some(({ kind }) => kind === 'asking');
  }

  indexOfAsk(ask: number): number {
    for (let i = 0; i < this.#slots.length; i++) {
      const slot = this.#slots[i]!;
      if (slot.kind === 'asking' && slot.ask === ask) return i;
    }
    return -1;
  }

  /** Whether a slot asks for a task that central has placed here. */
  asksFor(owner: Address, job: number, task: number, attempt: number): boolean {
    return this.#slots.some(
      (slot) =>
        slot.kind === 'asking' &&
        slot.entry.placed?.task === task &&
        slot.entry.placed.attempt === attempt &&
        slot.entry.job === job &&
        slot.entry.owner === owner,
    );
  }

  indexOfTask(owner: Address, job: number, task: number, attempt: number): number {
    for (let i = 0; i < this.#slots.length; i++) {
      const slot = this.#slots[i]!;
      if (
        slot.kind === 'running' &&
        slot.task === task &&
        slot.job === job &&
        slot.attempt === attempt &&
        slot.owner === owner
      ) {
        return i;
      }
    }
    return -1;
  }

  /** The slot asked, and was given a task. */
  run(index: number, running: Running): void {
    const slot = this.#slots[index]!;
    invariant(slot.kind === 'asking', () => `slot ${index} was given a task while it was ${slot.kind}`);
    this.#count(slot.entry.long, -1);
    this.#count(running.long, 1);
    this.#slots[index] = running;
  }

  /** What runs there is long, other than was believed. @returns whether that is news */
  setLong(index: number): boolean {
    const slot = this.#slots[index]!;
    if (slot.kind !== 'running' || slot.long) return false;
    this.#count(false, -1);
    this.#count(true, 1);
    slot.long = true;
    return true;
  }

  release(index: number): void {
    const slot = this.#slots[index]!;
    invariant(slot.kind !== 'idle', () => `slot ${index} was released twice`);
    const long = slot.kind === 'asking' ? slot.entry.long : slot.long;
    addTo(this.#free, slot.kind === 'asking' ? slot.entry.demand : slot.demand, 1);
    this.#count(long, -1);
    this.#slots[index] = IDLE;
    this.#idle++;
  }

  *running(): Iterable<[index: number, running: Running]> {
    for (let i = 0; i < this.#slots.length; i++) {
      const slot = this.#slots[i]!;
      if (slot.kind === 'running') yield [i, slot];
    }
  }

  *asking(): Iterable<[index: number, asking: Asking]> {
    for (let i = 0; i < this.#slots.length; i++) {
      const slot = this.#slots[i]!;
      if (slot.kind === 'asking') yield [i, slot];
    }
  }

  checkInvariants(): void {
    const idle = this.#slots.filter((slot) => slot.kind === 'idle').length;
    invariant(idle === this.#idle, () => `${idle} slots are idle, counted ${this.#idle}`);
    const used: Record<string, number> = {};
    let long = 0;
    for (const slot of this.#slots) {
      if (slot.kind === 'idle') continue;
      addTo(used, slot.kind === 'asking' ? slot.entry.demand : slot.demand, 1);
      if (slot.kind === 'asking' ? slot.entry.long : slot.long) long++;
    }
    invariant(
      long === this.#runningLong,
      () => `${long} slots serve long work, counted ${this.#runningLong}`,
    );
    invariant(
      long + this.#shortInUse + idle === this.#slots.length,
      () => `${long} long + ${this.#shortInUse} short + ${idle} idle are not ${this.#slots.length} slots`,
    );
    for (const name in this.#capacity) {
      const capacity = this.#capacity[name]!;
      const free = this.#free[name]!;
      const inUse = used[name] ?? 0;
      invariant(
        Math.abs(free + inUse - capacity) <= 1e-6 * Math.max(1, capacity) && inUse <= capacity * (1 + 1e-9),
        () => `${name}: ${free} free + ${inUse} used is not ${capacity}`,
      );
    }
  }

  #count(long: boolean, change: 1 | -1): void {
    if (long) this.#runningLong += change;
    else this.#shortInUse += change;
  }
}

/** What an owner gave this worker for the question starts to run. */
export function runningOf(
  { entry, series }: Asking,
  owner: Address,
  message: MessageOf<'bind' | 'run'>,
  now: Millis,
): Running {
  return {
    kind: 'running',
    owner,
    job: message.job,
    stage: entry.stage,
    task: message.task,
    attempt: message.attempt,
    match: 'match' in message ? message.match : 0,
    long: message.long,
    demand: entry.demand,
    since: series?.since ?? now,
    placedByCentral: entry.placed !== undefined,
    estimateMs: entry.estimateMs,
    timeoutMs: message.timeoutMs,
    startedAt: now,
    orphaned: false,
    output: undefined,
  };
}
