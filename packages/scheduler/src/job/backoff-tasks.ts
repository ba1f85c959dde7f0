import type { Millis, TaskIndex } from '@goshawk/core';
import { TaskState, type TaskTable } from './task-table.js';

/** Failed tasks in back-off before a retry; their state is `blocked` meanwhile. */
export class BackoffTasks {
  /** No back-off ends before this time; Infinity: there is none. */
  nextEndAt: Millis = Number.POSITIVE_INFINITY;
  readonly #tasks: TaskTable;
  /** End of each back-off; may include tasks that have continued or ended. Created on demand. */
  #endsAt: Map<TaskIndex, Millis> | undefined;

  constructor(tasks: TaskTable) {
    this.#tasks = tasks;
  }

  add(task: TaskIndex, until: Millis): void {
    this.#endsAt ??= new Map();
    this.#endsAt.set(task, until);
    this.nextEndAt = Math.min(this.nextEndAt, until);
  }

  has(task: TaskIndex): boolean {
    return this.#tasks.states[task] === TaskState.blocked && this.#endsAt?.has(task) === true;
  }

  get all(): readonly TaskIndex[] {
    return this.#endsAt === undefined ? [] : [...this.#endsAt.keys()].filter((task) => this.has(task));
  }

  /** Removes and returns the tasks whose back-off has ended, which must be put back. */
  takeExpired(now: Millis): TaskIndex[] {
    const rested: TaskIndex[] = [];
    this.nextEndAt = Number.POSITIVE_INFINITY;
    for (const [task, until] of this.#endsAt ?? []) {
      if (until > now) {
        this.nextEndAt = Math.min(this.nextEndAt, until);
        continue;
      }
      if (this.has(task)) rested.push(task);
      this.#endsAt!.delete(task);
    }
    return rested;
  }
}
