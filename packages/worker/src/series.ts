import { findsWork, type MessageOf, type Millis, type PolicySettings } from '@goshawk/core';

/** Tiny tasks of one owner that run in a slot one after another: the end of each asks for the next. */
export interface Series {
  /** When its first task was given to the slot. */
  readonly since: Millis;
  /** The end of the last one. */
  readonly report: MessageOf<'ended'>;
}

/**
 * For how long a series may last, the next task included if it is like the last, so that all others wait for no more than if it
 * were one task: to find a tiny task elsewhere would take about as long as to run it. 0 where others find work for workers,
 * or a policy at central decides on each task.
 */
export function seriesMsOf(policy: PolicySettings): Millis {
  return findsWork(policy.preset) && policy.preset.byClass ? policy.seriesMs : 0;
}
