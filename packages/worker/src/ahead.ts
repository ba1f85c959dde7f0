import { type Address, type MessageOf, NO_RESOURCES } from '@goshawk/core';
import type { Entry, TaskRef } from './entry.js';
import type { Slots } from './slots.js';

/** A task that arrived early, for a slot that is about to be free. */
export interface KeptTask {
  readonly owner: Address;
  readonly message: MessageOf<'run'>;
  readonly entry: Entry;
}

/** Slots of a worker that will soon be free, and the tasks that arrived early for them: at most one per slot. */
export class Ahead {
  /** Slots whose task is about to end; the value tells whether central counts the slot as free. */
  readonly #announced = new Map<number, boolean>();
  #kept: readonly KeptTask[] = [];

  foresee(slot: number): void {
    this.#announced.set(slot, false);
  }

  foresees(slot: number): boolean {
    return this.#announced.has(slot);
  }

  announce(slot: number): void {
    this.#announced.set(slot, true);
  }

  /** Returns whether the slot counts as free although its task still runs. */
  isAnnounced(slot: number): boolean {
    return this.#announced.get(slot) === true;
  }

  /** Stops counting the slot as free: its task has ended, or will not end soon. */
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

  /** Number of slots that count as free, less those with a next task. */
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

/** Returns whether this is the kept task. */
export function isTask(
  { owner, message }: KeptTask,
  from: Address,
  { job, task, attempt }: TaskRef,
): boolean {
  return message.task === task && message.job === job && message.attempt === attempt && owner === from;
}
