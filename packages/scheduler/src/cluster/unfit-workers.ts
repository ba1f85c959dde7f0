import { type Address, hasBesides, NO_RESOURCES, NOBODY, setLatest, type TaskIndex } from '@goshawk/core';
import type { SchedulerEnvironment } from '../contract.js';
import type { Job } from '../job/job.js';
import type { Members } from './members.js';

/**
 * Number of consecutive failures of tasks that completed elsewhere, after which a worker receives `unfit`.
 */
const UNFIT_AFTER = 5;
/** Number of workers with counts; the oldest are dropped. */
const WORKERS_MAX = 1_000;
/** Number of users whose failing workers are kept; the oldest are dropped. */
const USERS_MAX = 1_000;

const NONE: ReadonlySet<Address> = new Set();

const ANY_TASK = { demand: NO_RESOURCES };

/** Failures at a worker of tasks that completed elsewhere, since a task last completed there. */
interface Faults {
  readonly times: number;
  /** Their user; undefined if they have several users, or none. */
  readonly user: string | undefined;
}

/**
 * Notifies workers that fail tasks which others complete, so that they quarantine themselves. The counts span all jobs
 * (`Blame` counts within one), because a broken worker is always free and would attract tasks of many small jobs.
 */
export class UnfitWorkers {
  readonly #env: SchedulerEnvironment;
  readonly #members: Members;
  readonly #faults = new Map<Address, Faults>();
  /** Workers by user: a task of the user failed there, and none has completed since. */
  readonly #failing = new Map<string, Set<Address>>();

  constructor(env: SchedulerEnvironment, members: Members) {
    this.#env = env;
    this.#members = members;
  }

  /**
   * Records that the task's attempt was unsuccessful. The worker is not to blame if no other worker could run
   * the task.
   */
  failed(job: Job, task: TaskIndex): void {
    const worker = job.tasks.workerOf(task);
    if (worker <= NOBODY) return;
    const { user } = job.spec;
    const failing = this.#failing.get(user ?? '') ?? new Set();
    setLatest(this.#failing, user ?? '', failing.add(worker), USERS_MAX);
    if (!job.history.isUnfit(worker)) return;
    if (!hasBesides(this.#members, [worker], 'all', job.dag.stageOf(task).spec)) return;
    this.#env.send(worker, {
      type: 'unfit',
      reason: `tasks of ${job.id} fail here but complete elsewhere`,
      user,
    });
  }

  /** Records a completed task. @param failedAt workers at which it was unsuccessful before */
  completed(job: Job, worker: Address, failedAt: readonly Address[] | undefined): void {
    if (this.#faults.size > 0) this.#faults.delete(worker);
    if (this.#failing.size > 0) this.#completedAt(worker, job.spec.user ?? '');
    if (failedAt === undefined) return;
    const reason = `tasks fail here but complete elsewhere, including one of ${job.id}`;
    for (const other of failedAt) {
      if (other <= NOBODY || other === worker) continue;
      const { times, user } = this.#countFault(other, job.spec.user);
      if (times < UNFIT_AFTER) continue;
      this.#faults.delete(other);
      if (!this.#isLast(other)) this.#env.send(other, { type: 'unfit', reason, user });
    }
  }

  /** Workers at which a task of the user failed and none has completed since; retries avoid them. */
  failingFor(user = ''): ReadonlySet<Address> {
    return this.#failing.get(user) ?? NONE;
  }

  /** Drops workers that have left. A later worker with the same address may be healthy. */
  removeWorkers(workers: ReadonlySet<Address>): void {
    for (const [user, failing] of this.#failing) {
      for (const worker of workers) failing.delete(worker);
      if (failing.size === 0) this.#failing.delete(user);
    }
  }

  #completedAt(worker: Address, user: string): void {
    const failing = this.#failing.get(user);
    if (failing?.delete(worker) && failing.size === 0) this.#failing.delete(user);
  }

  #countFault(worker: Address, user: string | undefined): Faults {
    const { times, user: same } = this.#faults.get(worker) ?? { times: 0, user };
    const faults = { times: times + 1, user: same === user ? user : undefined };
    setLatest(this.#faults, worker, faults, WORKERS_MAX);
    return faults;
  }

  /** Whether no other worker accepts tasks, so that all jobs would wait for this one. */
  #isLast(worker: Address): boolean {
    return !hasBesides(this.#members, [worker], 'all', ANY_TASK);
  }
}
