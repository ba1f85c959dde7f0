import type { Millis } from '@goshawk/core';
import type { SchedulerRecord } from './registry.js';

/** A scheduler whose journal only it can read is given up after this time. ms */
const GIVEN_UP_MS = 10 * 60_000;

/**
 * Disconnected schedulers that keep a journal: their running tasks continue meanwhile, and their keys stay theirs.
 */
export class AwayOwners {
  /** Entries by tag, which all incarnations share. */
  readonly #byTag = new Map<string, { readonly scheduler: SchedulerRecord; since: Millis }>();

  left(scheduler: SchedulerRecord, now: Millis): void {
    this.#byTag.set(scheduler.tag, { scheduler, since: now });
  }

  /**
   * The scheduler has returned, or another has its name.
   *
   * @returns schedulers that will not return, because their name belongs to one without their jobs
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

  /** Central was suspended and could not see returns, so that time does not count. */
  overslept(ms: Millis): void {
    for (const away of this.#byTag.values()) away.since += ms;
  }

  /** @returns schedulers that have been away too long */
  giveUp(now: Millis): SchedulerRecord[] {
    const given: SchedulerRecord[] = [];
    for (const [tag, { scheduler, since }] of this.#byTag) {
      // A journal that others can read is never given up, because it always may find a new owner.
      if (scheduler.epoch > 0 || now - since <= GIVEN_UP_MS) continue;
      this.#byTag.delete(tag);
      given.push(scheduler);
    }
    return given;
  }
}
