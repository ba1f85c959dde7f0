import type { Millis, TaskIndex } from '@goshawk/core';
import { TaskState, type TaskTable } from './task-table.js';

/** Failed tasks in back-off before a retry; their state is `blocked` meanwhile. */
export class RestingTasks {
  /** No back-off ends before this time; Infinity: there is none. */
  nextAt: Millis = Number.POSITIVE_INFINITY;
  readonly #tasks: TaskTable;
  /** End of each back-off; may include tasks that have continued or ended. Created on demand. */
  #until: Map<TaskIndex, Millis> | undefined;

  constructor(tasks: TaskTable) {
    this.#tasks = tasks;
  }

  add(task: TaskIndex, until: Millis): void {
    this.#until ??= new Map();
    this.#until.set(task, until);
    this.nextAt = Math.min(this.nextAt, until);
  }

  has(task: TaskIndex): boolean {
    return this.#tasks.states[task] === TaskState.blocked && this.#until?.has(task) === true;
  }

  get all(): readonly TaskIndex[] {
    return this.#until === undefined ? [] : [...this.#until.keys()].filter((task) => this.has(task));
  }

  /** Removes and returns the tasks whose back-off has ended, which must be put back. */
  take(now: Millis): TaskIndex[] {
    const rested: TaskIndex[] = [];
    this.nextAt = Number.POSITIVE_INFINITY;
    for (const [task, until] of this.#until ?? []) {
      if (until > now) {
        this.nextAt = Math.min(this.nextAt, until);
        continue;
      }
      if (this.has(task)) rested.push(task);
      this.#until!.delete(task);
    }
    return rested;
  }
}
