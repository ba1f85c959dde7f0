import type { Millis, TaskIndex } from '@goshawk/core';
import { TaskState, type TaskTable } from './task-table.js';

/** Tasks that failed, and wait before they are tried again. They are in state `blocked` meanwhile. */
export class RestingTasks {
  /** Nothing rests for less than until then; Infinity: nothing rests. */
  nextAt: Millis = Number.POSITIVE_INFINITY;
  readonly #tasks: TaskTable;
  /** Until when; some of them may have gone on, or ended. Made when a task rests: in most jobs none does. */
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

  /** Those that have rested by now; they rest no more, and are to be put back. */
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
