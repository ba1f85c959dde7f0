import { type Address, type Environment, type MessageOf, type Millis, NOBODY } from '@goshawk/core';
import type { Job, Stage } from './job.js';

/**
 * The owner's half of matching: tells central how many workers a stage needs, and gives a task to each that
 * comes. It says how many it needs in all, not what has changed, so that a message lost is made up for by the
 * next.
 */
export class Needer {
  readonly #env: Environment;

  constructor(env: Environment) {
    this.#env = env;
  }

  /** Sees to it that central knows of all tasks of the stage that may run. */
  tell(job: Job, stage: Stage, central: Address, now: Millis): void {
    const tasks = tasksInNeed(job, stage);
    if (tasks > stage.needTold) this.#tell(job, stage, tasks, central, now);
  }

  /** Tells again what central has not answered since then. */
  tellAgain(job: Job, central: Address, since: Millis, now: Millis): void {
    for (const stage of job.stages) {
      const tasks = tasksInNeed(job, stage);
      if (tasks > 0 && stage.needToldAt <= since) this.#tell(job, stage, tasks, central, now);
    }
  }

  /**
   * Central has matched workers with the stage. Each gets a task from `give`; those for whom there is none go
   * back to central.
   *
   * @param give binds a waiting task to the worker; false when there is none
   */
  matched(
    stage: Stage | undefined,
    message: MessageOf<'matched'>,
    central: Address,
    give: (worker: Address, match: number) => boolean,
    now: Millis,
  ): void {
    for (const { worker, match } of message.workers) {
      if (stage !== undefined) {
        stage.matches++;
        stage.needTold = Math.max(0, stage.needTold - 1);
        stage.needToldAt = now;
      }
      if (!give(worker, match)) this.#env.send(central, { type: 'unused', worker, match });
    }
  }

  /** No task of the stage waits any more. */
  satisfied(job: Job, stage: Stage, central: Address, now: Millis): void {
    if (stage.needTold > 0) this.#tell(job, stage, 0, central, now);
  }

  #tell(job: Job, stage: Stage, tasks: number, central: Address, now: Millis): void {
    if (central === NOBODY) return;
    stage.needTold = tasks;
    stage.needToldAt = now;
    this.#env.send(central, {
      type: 'need',
      job: job.number,
      stage: stage.index,
      long: job.class === 'long',
      tasks,
      matches: stage.matches,
      estimateMs: job.spec.estimateMs ?? 0,
      demand: stage.spec.demand,
    });
  }
}

/** A job that limits how many of its tasks run needs no more workers than that. */
function tasksInNeed(job: Job, stage: Stage): number {
  return job.cancelling ? 0 : Math.min(stage.waiting, job.headroom);
}
