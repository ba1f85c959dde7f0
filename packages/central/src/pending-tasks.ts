import type { PlacedTask } from './waiting-time-queue.js';

/**
 * Tasks that no worker can take at present, in order of arrival. Their owners name them again and again until
 * they are placed, many at a time, so that finding one must not cost the number of all.
 */
export class PendingTasks {
  readonly #tasks = new Map<string, PlacedTask>();

  get size(): number {
    return this.#tasks.size;
  }

  /** A task that is here already keeps its place, with its latest attempt. */
  add(task: PlacedTask): void {
    this.#tasks.set(`${task.owner}/${task.job}/${task.task}`, task);
  }

  remove(matches: (task: PlacedTask) => boolean): void {
    for (const [key, task] of this.#tasks) if (matches(task)) this.#tasks.delete(key);
  }

  takeAll(): readonly PlacedTask[] {
    if (this.#tasks.size === 0) return [];
    const tasks = [...this.#tasks.values()];
    this.#tasks.clear();
    return tasks;
  }
}
