/** A task that cannot be started on so many workers is at fault; on more where other tasks of its job do complete. */
const TRIED_AT = { nothingCompleted: 3, somethingCompleted: 6 } as const;
/** What the tasks of a job cannot be started for; there is seldom more than one. */
const REASONS_MAX = 100;

/** Whose fault it is that tasks of a job cannot be started: what they name is not at a worker, or nowhere. */
export class StartFaults {
  /** By task, at which workers it could not be started, while it is not known whose fault that is. */
  readonly #failedAt = new Map<number, Set<string>>();
  /** What several workers have said is not there. */
  readonly #nowhere = new Set<string>();

  /** @returns whether it is the task's, as far as workers have told: this one, of so many */
  isTasks(task: number, reason: string, worker: string, workers: number, hasCompleted: boolean): boolean {
    if (!hasCompleted && this.#nowhere.has(reason)) return true;
    const at = this.#failedAt.get(task) ?? new Set();
    this.#failedAt.set(task, at.add(worker));
    const enough = hasCompleted ? TRIED_AT.somethingCompleted : TRIED_AT.nothingCompleted;
    if (at.size < Math.min(enough, Math.max(1, workers))) return false;
    this.#failedAt.delete(task);
    if (this.#nowhere.size < REASONS_MAX) this.#nowhere.add(reason);
    return true;
  }
}
