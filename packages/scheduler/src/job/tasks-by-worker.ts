import { type Address, AddressNumbers, type JobNumber, type TaskIndex } from '@goshawk/core';

/**
 * Index of the tasks that are queued or running at each worker. With it, the cost of a report or a loss depends only on
 * the number of tasks at that worker.
 */
export class TasksByWorker {
  /**
   * Workers with a single task, the usual case, have it in two columns: its job (0: none) and its index. All tasks of
   * another worker, and those of placeholder addresses, are in the map.
   */
  readonly #onlyJob = new AddressNumbers();
  readonly #onlyTask = new AddressNumbers();
  #onlyCount = 0;
  readonly #several = new Map<Address, Map<JobNumber, Set<TaskIndex>>>();

  add(worker: Address, job: JobNumber, task: TaskIndex): void {
    const jobs = this.#several.size === 0 ? undefined : this.#several.get(worker);
    if (jobs !== undefined) return addTo(jobs, job, task);
    const other = worker < 0 ? 0 : this.#onlyJob.get(worker);
    if (worker >= 0 && other === 0) {
      this.#onlyJob.set(worker, job);
      this.#onlyTask.set(worker, task);
      this.#onlyCount++;
      return;
    }
    const several = new Map<JobNumber, Set<TaskIndex>>();
    this.#several.set(worker, several);
    if (other !== 0) {
      addTo(several, other, this.#onlyTask.get(worker));
      this.#removeOnly(worker);
    }
    addTo(several, job, task);
  }

  remove(worker: Address, job: JobNumber, task: TaskIndex): void {
    if (this.#isOnly(worker, job, task)) return this.#removeOnly(worker);
    const jobs = this.#several.get(worker);
    const tasks = jobs?.get(job);
    if (jobs === undefined || tasks?.delete(task) !== true || tasks.size > 0) return;
    jobs.delete(job);
    if (jobs.size === 0) this.#several.delete(worker);
  }

  #removeOnly(worker: Address): void {
    this.#onlyJob.set(worker, 0);
    this.#onlyCount--;
  }

  #isOnly(worker: Address, job: JobNumber, task: TaskIndex): boolean {
    return worker >= 0 && this.#onlyJob.get(worker) === job && this.#onlyTask.get(worker) === task;
  }

  /** The job's tasks at the worker. */
  at(worker: Address, job: JobNumber): Iterable<TaskIndex> {
    if (worker >= 0 && this.#onlyJob.get(worker) === job) return [this.#onlyTask.get(worker)];
    return this.#several.get(worker)?.get(job) ?? [];
  }

  /** Jobs with tasks at the worker. */
  jobsAt(worker: Address): Iterable<JobNumber> {
    const only = worker < 0 ? 0 : this.#onlyJob.get(worker);
    return only > 0 ? [only] : (this.#several.get(worker)?.keys() ?? []);
  }

  /** Jobs with tasks at any worker. A job with tasks at several workers is listed repeatedly. */
  *jobs(): Iterable<JobNumber> {
    if (this.#onlyCount > 0) yield* this.#onlyJob.values();
    for (const jobs of this.#several.values()) yield* jobs.keys();
  }

  has(worker: Address, job: JobNumber, task: TaskIndex): boolean {
    return this.#isOnly(worker, job, task) || this.#several.get(worker)?.get(job)?.has(task) === true;
  }

  /** Total number of tasks. */
  get size(): number {
    let size = this.#onlyCount;
    for (const jobs of this.#several.values()) for (const tasks of jobs.values()) size += tasks.size;
    return size;
  }
}

function addTo(jobs: Map<JobNumber, Set<TaskIndex>>, job: JobNumber, task: TaskIndex): void {
  const tasks = jobs.get(job);
  if (tasks === undefined) jobs.set(job, new Set([task]));
  else tasks.add(task);
}
