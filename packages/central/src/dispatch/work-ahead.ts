import type { NeedView } from '@goshawk/core';
import type { BookedStage, UserTurn } from '@goshawk/policies';

/** Sums of waiting tasks. */
class Work {
  jobs = 0;
  tasks = 0;
  /** Σ run time, and Σ fraction of the cluster, over the tasks; Σ of their product. */
  workMs = 0;
  taskShares = 0;
  areaMs = 0;
  #last: unknown;

  /** @param every number of jobs that the stage's job represents */
  add(stage: BookedStage, every: number, taskShare: number): void {
    const tasks = every * stage.waiting;
    this.tasks += tasks;
    this.workMs += tasks * stage.estimateMs;
    this.taskShares += tasks * taskShare;
    this.areaMs += tasks * stage.estimateMs * taskShare;
    if (this.#last !== stage.job) this.jobs += every;
    this.#last = stage.job;
  }
}

/** Another user with waiting tasks. */
interface Rival {
  readonly turn: UserTurn;
  readonly work: Work;
}

/**
 * Sums the work that is served before a stage. Users with lower shares are served first until all shares are equal, and then
 * all take turns. So of their tasks, those up to equal shares are ahead, and one part per turn of the user's own earlier tasks.
 */
export class WorkAhead {
  readonly #own: UserTurn | undefined;
  readonly #rivals = new Map<unknown, Rival>();
  /** The user's own tasks ahead, or those of all users in one order. */
  readonly #before = new Work();

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
      rival = { turn, work: new Work() };
      this.#rivals.set(turn.user, rival);
    }
    rival.work.add(stage, every, turn.taskShare);
    return true;
  }

  /** Adds a stage that is served before. @param every number of jobs that the stage's job represents */
  add(stage: BookedStage, every: number): void {
    this.#before.add(stage, every, this.#own?.taskShare ?? 0);
  }

  sum(): NeedView['ahead'] {
    const { jobs, tasks: own, workMs } = this.#before;
    const sum = { jobs, tasks: own, workMs };
    for (const rival of this.#rivals.values()) {
      const tasks = this.#tasksFirst(rival);
      sum.tasks += tasks;
      const { work } = rival;
      sum.workMs += (tasks * work.workMs) / work.tasks;
      // Its tasks are served job by job.
      sum.jobs += Math.min(tasks, Math.ceil((work.jobs * tasks) / work.tasks));
    }
    return sum;
  }

  /** Number of the rival's tasks that are served first. */
  #tasksFirst({ turn, work }: Rival): number {
    const { tasks, taskShares, areaMs } = work;
    const own = this.#own!;
    const least = turn.isFirst && !own.isFirst ? 1 : 0;
    const missing =
      own.isFirst || taskShares <= 0 ? 0 : ((own.share - turn.share) * turn.weight * tasks) / taskShares;
    const alongside = areaMs > 0 ? ((turn.weight / own.weight) * this.#before.areaMs * tasks) / areaMs : 0;
    return Math.min(tasks, Math.max(least, Math.ceil(missing - 1e-9)) + Math.round(alongside));
  }
}
