import type { Millis, TaskIndex } from '@goshawk/core';
import { TaskState } from './task-state.js';
import type { TaskTable } from './task-table.js';

/** Tasks that failed or were lost repeatedly and are in back-off before the next attempt. Their state is `blocked`. */
export class BackoffTasks {
  /** Stands for those of all jobs without a task in back-off. None is added to it. */
  static readonly NONE = new BackoffTasks({ states: [] });
  /** No back-off ends before this time. Infinity: no task is in back-off. */
  nextEndAt: Millis = Number.POSITIVE_INFINITY;
  readonly #tasks: Pick<TaskTable, 'states'>;
  /** End of each back-off. May include tasks that have left `blocked`. Created on demand. */
  #endsAt: Map<TaskIndex, Millis> | undefined;

  constructor(tasks: Pick<TaskTable, 'states'>) {
    this.#tasks = tasks;
  }

  add(task: TaskIndex, endsAt: Millis): void {
    this.#endsAt ??= new Map();
    this.#endsAt.set(task, endsAt);
    this.nextEndAt = Math.min(this.nextEndAt, endsAt);
  }

  get isAny(): boolean {
    return this.nextEndAt < Number.POSITIVE_INFINITY;
  }

  has(task: TaskIndex): boolean {
    return this.#tasks.states[task] === TaskState.blocked && this.#endsAt?.has(task) === true;
  }

  get all(): readonly TaskIndex[] {
    return this.#endsAt === undefined ? [] : [...this.#endsAt.keys()].filter((task) => this.has(task));
  }

  /** Removes and returns the tasks whose back-off has ended. The caller must requeue them. */
  takeExpired(now: Millis): TaskIndex[] {
    const expired: TaskIndex[] = [];
    this.nextEndAt = Number.POSITIVE_INFINITY;
    for (const [task, endsAt] of this.#endsAt ?? []) {
      if (endsAt > now) {
        this.nextEndAt = Math.min(this.nextEndAt, endsAt);
        continue;
      }
      if (this.has(task)) expired.push(task);
      this.#endsAt!.delete(task);
    }
    return expired;
  }
}
