import type { Address, MessageOf } from '@goshawk/core';
import { isTask, type KeptTask } from './ahead.js';
import type { TaskRef } from './entry.js';

interface HeldEnd {
  readonly owner: Address;
  readonly report: MessageOf<'ended'>;
}

interface Chunk {
  readonly ask: number;
  tasks: KeptTask[];
}

/**
 * Chunks of tiny tasks, by question. An owner may answer the question of a slot with several tasks: the first runs in
 * the slot, and each of the others starts when the previous one ends.
 */
export class Chunks {
  /** An array, because few slots have chunks, and a map that changes with every chunk slows garbage collection. */
  #waiting: Chunk[] = [];
  /** Delayed reports: a task that another task of its chunk follows is reported together with later ones. */
  #ends: HeldEnd[] = [];

  add(ask: number, task: KeptTask): void {
    const chunk = this.#of(ask);
    if (chunk === undefined) this.#waiting.push({ ask, tasks: [task] });
    else chunk.tasks.push(task);
  }

  #of(ask: number): Chunk | undefined {
    return this.#waiting.find((chunk) => chunk.ask === ask);
  }

  #delete(ask: number): void {
    this.#waiting = this.#waiting.filter((chunk) => chunk.ask !== ask);
  }

  /** Returns the next waiting task, if any. */
  first(ask: number): KeptTask | undefined {
    return this.#of(ask)?.tasks[0];
  }

  /** Removes and returns the next waiting task. */
  next(ask: number): KeptTask | undefined {
    const tasks = this.#of(ask)?.tasks;
    const next = tasks?.shift();
    if (tasks?.length === 0) this.#delete(ask);
    return next;
  }

  /** Removes and returns all waiting tasks of the chunk. */
  takeRest(ask: number): readonly KeptTask[] {
    const tasks = this.#of(ask)?.tasks ?? [];
    if (tasks.length > 0) this.#delete(ask);
    return tasks;
  }

  /** Removes and returns the matching tasks. */
  take(matches: (task: KeptTask) => boolean): readonly KeptTask[] {
    const taken = this.tasks().filter(matches);
    if (taken.length === 0) return taken;
    for (const chunk of this.#waiting) chunk.tasks = chunk.tasks.filter((task) => !taken.includes(task));
    this.#waiting = this.#waiting.filter(({ tasks }) => tasks.length > 0);
    return taken;
  }

  holds(owner: Address, task: TaskRef): boolean {
    for (const { tasks } of this.#waiting)
      for (const kept of tasks) if (isTask(kept, owner, task)) return true;
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
    // The caller may start tasks of other chunks meanwhile.
    for (const { ask, tasks } of this.#waiting) if (tasks.length > 0) yield [ask, tasks[0]!];
  }

  tasks(): KeptTask[] {
    return this.#waiting.flatMap(({ tasks }) => tasks);
  }
}
