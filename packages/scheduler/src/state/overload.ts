import { LIMITS, type Millis, type OverloadReason } from '@goshawk/core';
import type { LoadLimits } from '../contract.js';
import type { JobStore } from '../durability/job-store.js';
import type { Refusal } from '../durability/ledger.js';
import { withLevels } from '../durability/quotas.js';
import type { Job } from '../job/job.js';
import type { JobListener } from '../job/job-events.js';

export const DEFAULT_LOAD_LIMITS: Omit<LoadLimits, 'activeBytesMax'> = {
  activeJobsMax: LIMITS.activeJobsMax,
  activeJobsPerUserMax: LIMITS.activeJobsPerUserMax,
  userWaitingTasksMax: Number.POSITIVE_INFINITY,
};

const TOO_MANY_BYTES_HINT =
  'submit it in parts, write identical tasks as {count, run}, or give the scheduler a larger heap (--max-old-space-size)';

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}

/** Limits on the retry delay of refused clients. ms */
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 30_000;
/** Weight of the latest interval in the moving average. */
const NEWEST_WEIGHT = 0.1;

/**
 * One user's active jobs may take this part of what those of other users leave, so that there is always room for another
 * user: dynamic thresholds (Choudhury and Hahne, 1998, with α = 3).
 */
const USER_SHARE = 0.75;
/**
 * Further part for each level of jobs that tasks submit. Tasks that wait for their jobs therefore never fill the room of
 * these, as in a structured buffer pool (Raubold and Haenle, 1976).
 */
const LEVEL_SHARE = 0.025;
/** Part of the limit that each user may use even while growing results of others exceed it, up to the ceiling. */
const GUARANTEED_SHARE = 0.05;
const CEILING = 1.2;

function waitingLimit(most: number): string {
  return `at most ${most} tasks of one user may wait at a scheduler (--user-waiting-tasks-max)`;
}

const JOB_TOO_LARGE = {
  code: 'job-too-large',
  hint: 'submit it in parts, or ask for a larger --user-waiting-tasks-max',
};

/**
 * Refuses jobs above the load limits, and sends clients a retry delay. A scheduler that accepted every job would slow down
 * and finally fail with all of them.
 *
 * The retry delay is the expected time until as many jobs have ended as were refused since the last end, so that
 * refused clients do not all return together.
 */
export class Overload implements JobListener {
  readonly #jobs: JobStore;
  readonly #limits: LoadLimits;
  readonly #random: () => number;
  /** Moving average of the time between ends of jobs. ms */
  #meanEndIntervalMs: Millis = 0;
  #lastEndAt: Millis | undefined;
  #refusedSinceEnd = 0;

  constructor(jobs: JobStore, limits: LoadLimits, random: () => number) {
    this.#jobs = jobs;
    this.#limits = limits;
    this.#random = random;
  }

  ended(_job: Job, now: Millis): void {
    if (this.#lastEndAt !== undefined)
      this.#meanEndIntervalMs += NEWEST_WEIGHT * (now - this.#lastEndAt - this.#meanEndIntervalMs);
    this.#lastEndAt = now;
    this.#refusedSinceEnd = Math.max(0, this.#refusedSinceEnd - 1);
  }

  /**
   * Why no job of this user is accepted, however small; undefined: jobs are accepted.
   *
   * @param parent id of the job whose task submits it
   */
  refusal(user: string | undefined, parent?: string): Refusal | undefined {
    const { activeJobsMax } = this.#limits;
    const { activeCount } = this.#jobs;
    if (activeCount >= activeJobsMax) {
      return this.#refuse(
        'jobs',
        `this scheduler holds ${activeCount} active jobs, which is its limit (--active-jobs-max)`,
      );
    }
    return this.#refusalOfShare(user, 0, parent);
  }

  /** One user's part of what other users leave, for a job that a task of `parent` submits. */
  #shareOf(user: string | undefined, parent: string | undefined): number {
    return USER_SHARE + this.#jobs.levelUnder(parent, user) * LEVEL_SHARE;
  }

  /** Why active jobs of this user may not take more memory. */
  #refusalOfShare(user: string | undefined, bytes: number, parent: string | undefined): Refusal | undefined {
    const { activeBytesMax } = this.#limits;
    const own = this.#jobs.activeBytesOf(user);
    const left = activeBytesMax - (this.#jobs.activeBytes - own);
    const guaranteed = Math.min(GUARANTEED_SHARE * activeBytesMax, left + (CEILING - 1) * activeBytesMax);
    const share = Math.max(this.#shareOf(user, parent) * left, guaranteed, 0);
    if (own + bytes < share) return undefined;
    const whose = user ?? 'users without a name';
    return this.#refuse(
      'memory',
      `active jobs of ${whose} take ${mebibytes(own)} of this scheduler’s memory, and this one ${mebibytes(bytes)}; ${mebibytes(share)} is the most for one user at present`,
    );
  }

  /**
   * Why a job of this size is refused: it does not fit into memory, or would fit only if recently ended jobs of other
   * users were evicted.
   */
  refusalOfBytes(user: string | undefined, bytes: number, parent?: string): Refusal | undefined {
    const { activeBytesMax } = this.#limits;
    const size = `the job takes ${mebibytes(bytes)} of this scheduler’s memory`;
    const most = USER_SHARE * activeBytesMax;
    if (bytes > most) {
      const message = `${size}, which has ${mebibytes(most)} for the jobs of one user`;
      return { code: 'job-too-large', message, hint: TOO_MANY_BYTES_HINT };
    }
    const refusal = this.#refusalOfShare(user, bytes, parent);
    if (refusal !== undefined) return refusal;
    if (this.#jobs.hasRoomFor(user, bytes)) return undefined;
    const whose = user ?? 'users without a name';
    const message = `${size}; jobs of ${whose} use their share, and recently ended jobs of other users are kept`;
    return this.#refuse('memory', message);
  }

  /** Maximum number of waiting tasks of one user; Infinity: no limit. */
  get userWaitingTasksMax(): number {
    return this.#limits.userWaitingTasksMax;
  }

  /** Why a job of this user with this many tasks is refused. */
  refusalOf(user: string | undefined, tasks: number, parent?: string): Refusal | undefined {
    const { activeJobsMax, activeJobsPerUserMax, userWaitingTasksMax } = this.#limits;
    const { jobs, waiting } = this.#jobs.activeOf(user);
    const whose = user ?? 'users without a name';
    const left = activeJobsMax - (this.#jobs.activeCount - jobs);
    const share = this.#shareOf(user, parent);
    const most = Math.min((share / USER_SHARE) * activeJobsPerUserMax, share * left);
    if (jobs >= Math.ceil(most))
      return this.#refuse(
        'user-jobs',
        `${jobs} jobs of ${whose} are active at this scheduler, the most that it holds for one user${jobs < activeJobsPerUserMax ? ' at present' : ''}`,
      );
    const waitingMax = this.#waitingTasksMax(user, parent);
    if (waiting + tasks <= waitingMax && tasks <= userWaitingTasksMax) return undefined;
    if (tasks > userWaitingTasksMax)
      return {
        ...JOB_TOO_LARGE,
        message: `the job has ${tasks} tasks; ${waitingLimit(userWaitingTasksMax)}`,
      };
    return this.#refuse(
      'user',
      `${whose} has ${waiting} tasks waiting here, and this job has ${tasks}; ${waitingLimit(waitingMax)}`,
    );
  }

  /** Why more tasks for an existing job of this user are refused. */
  refusalOfTasks(user: string | undefined, tasks: number, parent?: string): Refusal | undefined {
    const tooMuch = this.#refusalOfShare(user, 0, parent);
    if (tasks > 0 && tooMuch !== undefined) return tooMuch;
    const { waiting } = this.#jobs.activeOf(user);
    const most = this.#waitingTasksMax(user, parent);
    if (tasks === 0 || waiting + tasks <= most) return undefined;
    const whose = user ?? 'users without a name';
    return this.#refuse(
      'user',
      `${whose} has ${waiting} tasks waiting here, and ${tasks} more were submitted; ${waitingLimit(most)}`,
    );
  }

  #waitingTasksMax(user: string | undefined, parent: string | undefined): number {
    return withLevels(this.#limits.userWaitingTasksMax, this.#jobs.levelUnder(parent, user));
  }

  #refuse(cause: OverloadReason, message: string): Refusal {
    const expected = ++this.#refusedSinceEnd * this.#meanEndIntervalMs * (0.75 + 0.5 * this.#random());
    const retryMs = Math.round(Math.min(RETRY_MAX_MS, Math.max(RETRY_MIN_MS, expected)));
    const hint = `try again in ${Math.ceil(retryMs / 1_000)} s`;
    return { code: 'overloaded', message, hint, retryMs, cause };
  }
}
