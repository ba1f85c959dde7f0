import type { Address, JobNumber, TaskIndex } from '@goshawk/core';

/**
 * Index of the tasks that are queued or running at each worker. With it, the cost of a report or a loss depends only on
 * the number of tasks at that worker.
 */
export class TasksByWorker {
  readonly #byWorker = new Map<Address, Map<JobNumber, Set<TaskIndex>>>();

  add(worker: Address, job: JobNumber, task: TaskIndex): void {
    let jobs = this.#byWorker.get(worker);
    if (jobs === undefined) {
      jobs = new Map();
      this.#byWorker.set(worker, jobs);
    }
    const tasks = jobs.get(job);
    if (tasks === undefined) jobs.set(job, new Set([task]));
    else tasks.add(task);
  }

  remove(worker: Address, job: JobNumber, task: TaskIndex): void {
    const jobs = this.#byWorker.get(worker);
    const tasks = jobs?.get(job);
    if (jobs === undefined || tasks?.delete(task) !== true || tasks.size > 0) return;
    jobs.delete(job);
    if (jobs.size === 0) this.#byWorker.delete(worker);
  }

  /** The job's tasks at the worker. */
  at(worker: Address, job: JobNumber): Iterable<TaskIndex> {
    return this.#byWorker.get(worker)?.get(job) ?? [];
  }

  /** Jobs with tasks at the worker. */
  jobsAt(worker: Address): Iterable<JobNumber> {
    return this.#byWorker.get(worker)?.keys() ?? [];
  }

  /** Jobs with tasks at any worker. A job with tasks at several workers is listed repeatedly. */
  *jobs(): Iterable<JobNumber> {
    for (const jobs of this.#byWorker.values()) yield* jobs.keys();
  }

  has(worker: Address, job: JobNumber, task: TaskIndex): boolean {
    return this.#byWorker.get(worker)?.get(job)?.has(task) === true;
  }

  /** Total number of tasks. */
  get size(): number {
    let size = 0;
    for (const jobs of this.#byWorker.values()) for (const tasks of jobs.values()) size += tasks.size;
    return size;
  }
}
