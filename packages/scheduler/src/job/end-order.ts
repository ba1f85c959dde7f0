import type { TaskIndex } from '@goshawk/core';
import { NumberPages, PAGE } from './number-pages.js';

/** The tasks of a job in the order in which they ended. */
export class EndOrder {
  length = 0;
  // Task indexes plus one, because 0 means that no number is set. Created on demand.
  #tasks: NumberPages | undefined;

  push(task: TaskIndex): void {
    this.#tasks ??= new NumberPages(false);
    this.#tasks.set(this.length++, task + 1);
    if (this.length % PAGE === 0) this.#tasks.pack(this.length - 1);
  }

  /** Appends the tasks from `first` up to `end`, exclusive. */
  pushRange(first: TaskIndex, end: TaskIndex): void {
    for (let task = first; task < end; task++) this.push(task);
  }

  at(index: number): TaskIndex | undefined {
    return index < this.length ? this.#tasks!.get(index) - 1 : undefined;
  }
}
