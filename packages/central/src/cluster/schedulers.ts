import type { Address, MessageOf, Millis } from '@goshawk/core';
import { ClockReadings } from './clocks.js';

/** Time in ms after which central gives up on a disconnected scheduler whose journal no other can read. */
const GIVE_UP_AFTER_MS = 10 * 60_000;

/** The owner of a tag's jobs; its address changes when it restarts or when another takes over its journal. */
export interface SchedulerRecord {
  readonly address: Address;
  readonly name: string;
  readonly tag: string;
  readonly endpoint: string;
  /** Whether the scheduler keeps a journal, so that its jobs survive a crash. */
  readonly durable: boolean;
  /** Whether it accepts no new jobs. */
  readonly draining: boolean;
  /** `HOST:PORT` of the HTTP server of its process. */
  readonly http: string | undefined;
  /** Epoch of its journal; 0: no takeover. */
  readonly epoch: number;
  /** Whether it has taken over the jobs of a lost scheduler, and accepts no others. */
  readonly adopted: boolean;
  /** See `enlist`. */
  readonly lineage?: MessageOf<'enlist'>['lineage'];
  /** Previous incarnations in its journal. */
  readonly previousIncarnations: readonly Address[];
  lastSeenAt: Millis;
  /** Its wall clock, which writes the times of its jobs. */
  readonly clock: ClockReadings;
  /** See WorkerRecord. */
  brokeAt: Millis | undefined;
  jobs: number;
  waiting: number;
  /** Number of its last stored notice. */
  lastNotice: number;
  /** When it disconnected without ending its jobs; undefined while it is a member. */
  awaySince: Millis | undefined;
  /** Whether it said so when it disconnected. */
  hasLeft: boolean;
}

/**
 * Schedulers by the tag of their jobs: members, and disconnected ones that keep a journal. While a scheduler
 * is disconnected, its tasks continue, and its keys are not assigned to others.
 */
export class Schedulers {
  readonly #byTag = new Map<string, SchedulerRecord>();
  /** Index of the members. */
  readonly #members = new Map<Address, SchedulerRecord>();

  /** Members in the order in which they joined. */
  get members(): ReadonlyMap<Address, SchedulerRecord> {
    return this.#members;
  }

  /** Disconnected schedulers in the order in which they left. */
  get away(): readonly SchedulerRecord[] {
    return [...this.#byTag.values()].filter(({ awaySince }) => awaySince !== undefined);
  }

  /** Members, then disconnected schedulers. */
  get all(): readonly SchedulerRecord[] {
    return [...this.#members.values(), ...this.away];
  }

  /** Returns the owner of the tag's jobs, present or away. */
  byTag(tag: string): SchedulerRecord | undefined {
    return this.#byTag.get(tag);
  }

  memberByTag(tag: string): SchedulerRecord | undefined {
    const known = this.#byTag.get(tag);
    return known?.awaySince === undefined ? known : undefined;
  }

  memberByName(name: string): SchedulerRecord | undefined {
    for (const scheduler of this.#members.values()) if (scheduler.name === name) return scheduler;
    return undefined;
  }

  /** Returns the scheduler with this name: a member, or else a disconnected one. */
  byName(name: string): SchedulerRecord | undefined {
    return this.all.find((scheduler) => scheduler.name === name);
  }

  /** Returns those that have taken over jobs of the scheduler with this name; they are called NAME/TAG. */
  heirsOf(name: string): readonly SchedulerRecord[] {
    return this.all.filter((scheduler) => scheduler.adopted && scheduler.name.startsWith(`${name}/`));
  }

  /** Adds the scheduler as a member, or changes the address of the one with this tag. */
  rehome(from: Address, message: MessageOf<'enlist'>, now: Millis): void {
    const { type: _, ...introduction } = message;
    const initial = {
      lastSeenAt: now,
      brokeAt: undefined,
      jobs: 0,
      waiting: 0,
      clock: new ClockReadings(now),
    };
    const presence = { lastNotice: 0, awaySince: undefined, hasLeft: false };
    const scheduler = { ...introduction, ...initial, ...presence, address: from };
    const before = this.#members.get(from);
    if (before !== undefined) this.#byTag.delete(before.tag);
    this.#members.set(from, scheduler);
    this.#byTag.set(message.tag, scheduler);
  }

  /** Removes a member that has left or is lost. If it keeps a journal, it counts as disconnected and may return. */
  leave(scheduler: SchedulerRecord, now: Millis): void {
    this.#members.delete(scheduler.address);
    this.#byTag.delete(scheduler.tag);
    if (!scheduler.durable) return;
    scheduler.awaySince = now;
    this.#byTag.set(scheduler.tag, scheduler);
  }

  /**
   * Removes and returns disconnected schedulers with this name and another tag, because they will not return.
   * Schedulers with shared journals stay, because others can take over their jobs.
   */
  removeReplaced(tag: string, name: string): readonly SchedulerRecord[] {
    return this.#remove((each) => each.tag !== tag && each.name === name && each.epoch === 0);
  }

  /** Removes and returns schedulers that have been away too long. Those with shared journals stay for a takeover. */
  giveUp(now: Millis): readonly SchedulerRecord[] {
    return this.#remove(({ epoch, awaySince }) => epoch === 0 && now - awaySince! > GIVE_UP_AFTER_MS);
  }

  /** Excludes the time for which central was suspended and could not detect that schedulers returned. */
  excludeSuspension(ms: Millis): void {
    for (const away of this.away) away.awaySince! += ms;
  }

  #remove(matches: (away: SchedulerRecord) => boolean): readonly SchedulerRecord[] {
    const removed = this.away.filter(matches);
    for (const { tag } of removed) this.#byTag.delete(tag);
    return removed;
  }
}
