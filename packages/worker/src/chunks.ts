import type { Address, MessageOf } from '@goshawk/core';
import { isTask, type KeptTask } from './ahead.js';
import type { TaskRef } from './entry.js';

interface HeldEnd {
  readonly owner: Address;
  readonly report: MessageOf<'ended'>;
}

/**
 * Chunks of tiny tasks, by question. An owner may answer the question of a slot with several tasks: the first runs in
 * the slot, and each of the others starts when the previous one ends.
 */
export class Chunks {
  readonly #waiting = new Map<number, KeptTask[]>();
  /** Delayed reports: a task that another task of its chunk follows is reported together with later ones. */
  #ends: HeldEnd[] = [];

  add(ask: number, task: KeptTask): void {
    const waiting = this.#waiting.get(ask);
    if (waiting === undefined) this.#waiting.set(ask, [task]);
    else waiting.push(task);
  }

  /** Returns the next waiting task, if any. */
  first(ask: number): KeptTask | undefined {
    return this.#waiting.get(ask)?.[0];
  }

  /** Removes and returns the next waiting task. */
  next(ask: number): KeptTask | undefined {
    const waiting = this.#waiting.get(ask);
    const next = waiting?.shift();
    if (waiting?.length === 0) this.#waiting.delete(ask);
    return next;
  }

  /** Removes and returns all waiting tasks of the chunk. */
  takeRest(ask: number): readonly KeptTask[] {
    const waiting = this.#waiting.get(ask) ?? [];
    this.#waiting.delete(ask);
    return waiting;
  }

  /** Removes and returns the matching tasks. */
  take(matches: (task: KeptTask) => boolean): readonly KeptTask[] {
    const taken = this.tasks().filter(matches);
    for (const [ask, waiting] of taken.length === 0 ? [] : this.#waiting) {
      const left = waiting.filter((task) => !taken.includes(task));
      if (left.length > 0) this.#waiting.set(ask, left);
      else this.#waiting.delete(ask);
    }
    return taken;
  }

  holds(owner: Address, task: TaskRef): boolean {
    for (const waiting of this.#waiting.values())
      for (const kept of waiting) if (isTask(kept, owner, task)) return true;
    return false;
  }

  /** Delays the report of an end. Returns whether it is the only delayed one. */
  hold(end: HeldEnd): boolean {
    return this.#ends.push(end) === 1;
  }

  /** Removes and returns the unreported ends. */
  takeEnds(): readonly HeldEnd[] {
    const ends = this.#ends;
    if (ends.length > 0) this.#ends = [];
    return ends;
  }

  /** Yields the question and the next task of each chunk. */
  *firsts(): Iterable<[number, KeptTask]> {
    for (const [ask, [first]] of this.#waiting) yield [ask, first!];
  }

  tasks(): KeptTask[] {
    return [...this.#waiting.values()].flat();
  }
}
