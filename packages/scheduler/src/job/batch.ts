import { countTasks, type JobSpec, type Lane, type Millis, type Scope, type StageSpec } from '@goshawk/core';
import { ProbeLedger } from './probe-ledger.js';

/**
 * Tasks that are looked for together, because to the scheduler they are alike: those of a stage (the batch of batch
 * probing), the pilots of a job, or what may run before they have told. Its index names it in messages.
 */
export interface Batch {
  readonly index: number;
  readonly spec: StageSpec;
  readonly count: number;
  /** Where its probes wait at workers. */
  readonly lane: Lane;
  /** Where its probes go, when not where the job's class may run. */
  readonly over: Scope | undefined;
  /** Times so many probes are sent as the policy says. */
  readonly probeFactor: number;
  /** Its tasks in state `waiting`. */
  readonly waiting: number;
  /** Where the probes are that no worker has served. */
  readonly probes: ProbeLedger;
  /** All probes were taken back; news of them that was on its way says nothing about probes that are out. */
  recalled: boolean;
  /** More were sent than it needs, since nothing was heard of the first. */
  probedAgain: boolean;
  /** Tasks of which central was told that they need a worker and for which none has come, and when it was told. */
  needSent: number;
  needSentAt: Millis;
  /** Workers that central has matched with the batch. */
  matches: number;
}

/** A stage is the batch of batch probing (Sparrow): its tasks are alike to the scheduler. */
export interface Stage extends Batch {
  /** Its tasks are first … first + count − 1. */
  readonly first: number;
  /** When its tasks might start; of a job of an earlier incarnation, when that was accepted. */
  releasedAt: Millis;
  /** Stages before it that have not completed. */
  blockers: number;
  /** Tasks that are neither completed, failed nor cancelled. */
  unfinished: number;
  /** Tasks in state `waiting`. */
  waiting: number;
  /** The first task that was never taken from `waiting`; those before it that wait again are in `returned`. */
  nextFresh: number;
  returned: number[];
}

/** The stages of a job, none of which has begun. */
export function stagesOf({ stages }: JobSpec, lane: Lane, acceptedAt: Millis): Stage[] {
  let first = 0;
  return stages.map((spec, index) => {
    const count = countTasks(spec.tasks);
    const stage: Stage = {
      index,
      spec,
      lane,
      probeFactor: 1,
      over: undefined,
      first,
      count,
      releasedAt: acceptedAt,
      blockers: spec.after.length,
      unfinished: count,
      waiting: 0,
      nextFresh: first,
      returned: [],
      probes: new ProbeLedger(),
      recalled: false,
      probedAgain: false,
      needSent: 0,
      needSentAt: 0,
      matches: 0,
    };
    first += count;
    return stage;
  });
}
