import type { NeedView } from '@goshawk/core';
import type { BookedStage, UserTurn } from '@goshawk/policies';

/** Waiting tasks of a user. */
interface Rival {
  readonly turn: UserTurn;
  jobs: number;
  tasks: number;
  /** Σ run time, and Σ fraction of the cluster, over the tasks; Σ of their product. */
  workMs: number;
  taskShares: number;
  areaMs: number;
  last: unknown;
}

/**
 * Sums the work that is served before a stage. Users with lower shares take turns with the user of the stage, so only the
 * tasks that bring them to the same share, and their part while the user's own earlier tasks are served, are ahead.
 */
export class WorkAhead {
  readonly #own: UserTurn | undefined;
  readonly #rivals = new Map<unknown, Rival>();
  readonly #before = { jobs: 0, tasks: 0, workMs: 0 };
  #last: unknown;
  /** Fraction of the cluster × time of the user's own tasks ahead. */
  #ownAreaMs = 0;

  /** @param own the user of the stage; undefined: the policy has one order for all users */
  constructor(own: UserTurn | undefined) {
    this.#own = own;
  }

  /**
   * Notes a stage of another user that takes turns with this one. Returns false if it does not.
   *
   * @param every number of jobs that the stage's job represents
   */
  takesTurns(stage: BookedStage, turn: UserTurn | undefined, every: number): boolean {
    if (this.#own === undefined || turn === undefined || turn.user === this.#own.user) return false;
    let rival = this.#rivals.get(turn.user);
    if (rival === undefined) {
      rival = { turn, jobs: 0, tasks: 0, workMs: 0, taskShares: 0, areaMs: 0, last: undefined };
      this.#rivals.set(turn.user, rival);
    }
    const tasks = every * stage.waiting;
    rival.tasks += tasks;
    rival.workMs += tasks * stage.estimateMs;
    rival.taskShares += tasks * turn.taskShare;
    rival.areaMs += tasks * stage.estimateMs * turn.taskShare;
    if (rival.last !== stage.job) rival.jobs += every;
    rival.last = stage.job;
    return true;
  }

  /** Adds a stage that is served before. @param every number of jobs that the stage's job represents */
  add(stage: BookedStage, every: number): void {
    const tasks = every * stage.waiting;
    this.#before.tasks += tasks;
    this.#before.workMs += tasks * stage.estimateMs;
    this.#ownAreaMs += tasks * stage.estimateMs * (this.#own?.taskShare ?? 0);
    if (this.#last !== stage.job) this.#before.jobs += every;
    this.#last = stage.job;
  }

  sum(): NeedView['ahead'] {
    const sum = { ...this.#before };
    for (const rival of this.#rivals.values()) {
      const tasks = this.#tasksFirst(rival);
      sum.tasks += tasks;
      sum.workMs += (tasks * rival.workMs) / rival.tasks;
      // Its tasks are served job by job.
      sum.jobs += Math.min(tasks, Math.ceil((rival.jobs * tasks) / rival.tasks));
    }
    return sum;
  }

  /** Number of the rival's tasks that are served first. */
  #tasksFirst({ turn, tasks, taskShares, areaMs }: Rival): number {
    const own = this.#own!;
    const least = turn.isFirst && !own.isFirst ? 1 : 0;
    const missing =
      own.isFirst || taskShares <= 0 ? 0 : ((own.share - turn.share) * turn.weight * tasks) / taskShares;
    const alongside = areaMs > 0 ? ((turn.weight / own.weight) * this.#ownAreaMs * tasks) / areaMs : 0;
    return Math.min(tasks, Math.max(least, Math.ceil(missing - 1e-9)) + Math.round(alongside));
  }
}
