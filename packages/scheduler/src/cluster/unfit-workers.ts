import { type Address, NO_RESOURCES, NOBODY, setLatest, type TaskIndex } from '@goshawk/core';
import type { SchedulerEnvironment } from '../contract.js';
import type { Job } from '../job/job.js';
import { hasBesides } from './able-workers.js';
import type { Members } from './members.js';

/** So many tasks failed at a worker and completed elsewhere, and none completed there: the worker gets `unfit`. */
const TOLD_AT = 5;
/** Counts are kept of so many workers, the latest. */
const WORKERS_MAX = 1_000;
/** Users whose failures are kept by worker, the latest. */
const USERS_MAX = 1_000;

const NONE: ReadonlySet<Address> = new Set();

const ANYTHING = { demand: NO_RESOURCES };

/**
 * Workers that fail what others complete are told so, and quarantine themselves. `Blame` judges within one job; here
 * counts go over all jobs: a worker that lacks a program is always free, and draws the first attempts of many small jobs.
 */
export class UnfitWorkers {
  readonly #env: SchedulerEnvironment;
  readonly #members: Members;
  readonly #disproved = new Map<Address, number>();
  /** By user, workers at which a task of theirs failed and none completed since. */
  readonly #failing = new Map<string, Set<Address>>();

  constructor(env: SchedulerEnvironment, members: Members) {
    this.#env = env;
    this.#members = members;
  }

  /** The task's attempt came to nothing at its worker, which is no worse than others where no other could run it. */
  failed(job: Job, task: TaskIndex): void {
    const worker = job.tasks.workerOf(task);
    if (worker <= NOBODY) return;
    const { user = '' } = job.spec;
    setLatest(this.#failing, user, (this.#failing.get(user) ?? new Set()).add(worker), USERS_MAX);
    if (!job.history.isUnfit(worker)) return;
    if (!hasBesides(this.#members, [worker], 'all', job.dag.stageOf(task).spec)) return;
    this.#env.send(worker, { type: 'unfit', reason: `tasks of ${job.id} fail here but complete elsewhere` });
  }

  /** A task completed at the worker. @param failedAt workers that it came to nothing at before */
  completed(job: Job, worker: Address, failedAt: readonly Address[] | undefined): void {
    if (this.#disproved.size > 0) this.#disproved.delete(worker);
    if (this.#failing.size > 0) this.#completedAt(worker, job.spec.user ?? '');
    if (failedAt === undefined) return;
    const reason = `tasks fail here but complete elsewhere, including one of ${job.id}`;
    for (const other of failedAt) {
      if (other > NOBODY && other !== worker && this.#disprove(other) && !this.#isLast(other))
        this.#env.send(other, { type: 'unfit', reason });
    }
  }

  /** Workers at which a task of the user failed and none completed since: a retry avoids them. */
  failingFor(user = ''): ReadonlySet<Address> {
    return this.#failing.get(user) ?? NONE;
  }

  /** Workers have left: the next one at their place may be sound. */
  lost(workers: ReadonlySet<Address>): void {
    for (const [user, failing] of this.#failing) {
      for (const worker of workers) failing.delete(worker);
      if (failing.size === 0) this.#failing.delete(user);
    }
  }

  #completedAt(worker: Address, user: string): void {
    const failing = this.#failing.get(user);
    if (failing?.delete(worker) && failing.size === 0) this.#failing.delete(user);
  }

  #disprove(worker: Address): boolean {
    const times = (this.#disproved.get(worker) ?? 0) + 1;
    if (times < TOLD_AT) setLatest(this.#disproved, worker, times, WORKERS_MAX);
    else this.#disproved.delete(worker);
    return times >= TOLD_AT;
  }

  /** No other worker takes work: everybody's jobs would wait for it. */
  #isLast(worker: Address): boolean {
    return !hasBesides(this.#members, [worker], 'all', ANYTHING);
  }
}
