import { type Address, type MessageOf, NO_RESOURCES } from '@goshawk/core';
import type { Entry, TaskRef } from './entry.js';
import type { Slots } from './slots.js';

/** A task that arrived early, for a slot that is about to be free. */
export interface KeptTask {
  readonly owner: Address;
  readonly message: MessageOf<'run'>;
  readonly entry: Entry;
}

/**
 * Slots of a worker that are predicted to be free soon, and tasks that arrived early for them: at most one per slot.
 */
export class Ahead {
  /** Slots whose task will probably end soon; the value is true if the slot was announced to central as free. */
  readonly #announced = new Map<number, boolean>();
  #kept: readonly KeptTask[] = [];

  predictEnd(slot: number): void {
    this.#announced.set(slot, false);
  }

  isPredicted(slot: number): boolean {
    return this.#announced.has(slot);
  }

  announce(slot: number): void {
    this.#announced.set(slot, true);
  }

  /** Returns whether the slot counts as free although its task still runs. */
  isAnnounced(slot: number): boolean {
    return this.#announced.get(slot) === true;
  }

  /** Removes the prediction for the slot: its task has ended, or did not end as predicted. */
  forget(slot: number): void {
    this.#announced.delete(slot);
  }

  get announcedCount(): number {
    let count = 0;
    for (const isAnnounced of this.#announced.values()) if (isAnnounced) count++;
    return count;
  }

  /** Returns the CPUs that announced slots will free. */
  cpusIn(slots: Slots): number {
    let count = 0;
    for (const [slot, isAnnounced] of this.#announced)
      if (isAnnounced && slots.entryAt(slot)?.demand === NO_RESOURCES) count++;
    for (const { message } of this.#kept) if (message.demand === NO_RESOURCES) count--;
    return Math.max(0, count);
  }

  /** Number of announced slots for which no task has arrived yet. */
  get open(): number {
    return this.announcedCount - this.#kept.length;
  }

  get kept(): readonly KeptTask[] {
    return this.#kept;
  }

  keep(task: KeptTask): void {
    this.#kept = [...this.#kept, task];
  }

  /** Removes and returns the matching tasks. */
  take(matches: (task: KeptTask) => boolean): readonly KeptTask[] {
    const taken = this.#kept.filter(matches);
    if (taken.length > 0) this.#kept = this.#kept.filter((task) => !taken.includes(task));
    return taken;
  }

  takeFirst(): KeptTask | undefined {
    const [first, ...others] = this.#kept;
    this.#kept = others;
    return first;
  }

  has(owner: Address, task: TaskRef): boolean {
    return this.#kept.some((kept) => isTask(kept, owner, task));
  }
}

/** Returns whether the kept task is this attempt of this owner's task. */
export function isTask(
  { owner, message }: KeptTask,
  from: Address,
  { job, task, attempt }: TaskRef,
): boolean {
  return message.task === task && message.job === job && message.attempt === attempt && owner === from;
}
