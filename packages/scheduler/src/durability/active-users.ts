import type { Job } from '../job/job.js';

/** A user's active jobs. */
interface ActiveOfUser {
  jobs: number;
  /** Number of tasks that have not started. */
  waiting: number;
}

const NONE: Readonly<ActiveOfUser> = { jobs: 0, waiting: 0 };

/** Counts the active jobs of each user, and their tasks that have not started. */
export class ActiveUsers {
  readonly #byUser = new Map<string | undefined, ActiveOfUser>();
  /** Active jobs that have been on hold or have had unfinished predecessors. */
  readonly #restrained = new Set<Job>();

  get byUser(): ReadonlyMap<string | undefined, Readonly<ActiveOfUser>> {
    return this.#byUser;
  }

  of(user: string | undefined): Readonly<ActiveOfUser> {
    return this.#byUser.get(user) ?? NONE;
  }

  /** Counts a job that has become active. From now on, its task table updates the number of waiting tasks. */
  add(job: Job): void {
    const { tasks, spec } = job;
    const counts = this.#byUser.get(spec.user) ?? { ...NONE };
    counts.jobs++;
    counts.waiting += tasks.notStartedCount;
    tasks.waitingOfUser = counts;
    this.#byUser.set(spec.user, counts);
    if (isRestrained(job)) this.#restrained.add(job);
  }

  /** Uncounts a job that is no longer active. */
  delete(job: Job): void {
    const { tasks, spec } = job;
    const counts = this.#byUser.get(spec.user);
    tasks.waitingOfUser = undefined;
    this.#restrained.delete(job);
    if (counts === undefined) return;
    counts.jobs--;
    counts.waiting -= tasks.notStartedCount;
    if (counts.jobs === 0) this.#byUser.delete(spec.user);
  }

  /** Call when an active job is put on hold. */
  held(job: Job): void {
    this.#restrained.add(job);
  }

  /** Number of tasks that have not started, without those of jobs that are on hold or have unfinished predecessors. */
  get waitingTasks(): number {
    let waiting = 0;
    for (const user of this.#byUser.values()) waiting += user.waiting;
    for (const job of this.#restrained) if (isRestrained(job)) waiting -= job.tasks.notStartedCount;
    return waiting;
  }

  /** The users with the most active jobs, most first. */
  largest(count: number): { user: string | undefined; jobs: number; waiting: number }[] {
    const all = Array.from(this.#byUser, ([user, counts]) => ({ user, ...counts }));
    return all.sort((one, other) => other.jobs - one.jobs || other.waiting - one.waiting).slice(0, count);
  }
}

function isRestrained(job: Job): boolean {
  return job.hasPendingPredecessors || job.isHeld;
}
