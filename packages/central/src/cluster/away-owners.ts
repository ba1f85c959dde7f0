import type { Millis } from '@goshawk/core';
import type { SchedulerRecord } from './registry.js';

/** A scheduler whose journal nobody else can read and that does not come back within this is given up. ms */
const GIVEN_UP_MS = 10 * 60_000;

/**
 * Schedulers that are away and will know their jobs when they are back: what runs of theirs goes on meanwhile, and
 * their keys stay theirs.
 */
export class AwayOwners {
  /** Entries by tag, which all incarnations share. */
  readonly #byTag = new Map<string, { readonly scheduler: SchedulerRecord; since: Millis }>();

  left(scheduler: SchedulerRecord, now: Millis): void {
    this.#byTag.set(scheduler.tag, { scheduler, since: now });
  }

  /**
   * It is back, or another one has its name.
   *
   * @returns those that will not come back: their name is taken by one that does not know their jobs
   */
  returned(tag: string, name: string): SchedulerRecord[] {
    this.#byTag.delete(tag);
    const succeeded: SchedulerRecord[] = [];
    for (const [other, { scheduler }] of this.#byTag) {
      // If others can take over its jobs, the name does not identify them.
      if (scheduler.name !== name || scheduler.epoch > 0) continue;
      this.#byTag.delete(other);
      succeeded.push(scheduler);
    }
    return succeeded;
  }

  *all(): Iterable<SchedulerRecord> {
    for (const { scheduler } of this.#byTag.values()) yield scheduler;
  }

  named(name: string): SchedulerRecord | undefined {
    for (const { scheduler } of this.#byTag.values()) if (scheduler.name === name) return scheduler;
    return undefined;
  }

  tagged(tag: string): SchedulerRecord | undefined {
    return this.#byTag.get(tag)?.scheduler;
  }

  get count(): number {
    return this.#byTag.size;
  }

  /** Central was not there to hear who is back: that time does not count. */
  overslept(ms: Millis): void {
    for (const away of this.#byTag.values()) away.since += ms;
  }

  /** @returns those that nobody waits for any more */
  giveUp(now: Millis): SchedulerRecord[] {
    const given: SchedulerRecord[] = [];
    for (const [tag, { scheduler, since }] of this.#byTag) {
      // A journal that others can read keeps a claimant for as long as it exists.
      if (scheduler.epoch > 0 || now - since <= GIVEN_UP_MS) continue;
      this.#byTag.delete(tag);
      given.push(scheduler);
    }
    return given;
  }
}
