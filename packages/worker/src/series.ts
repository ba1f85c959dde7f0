import { findsWork, type MessageOf, type Millis, type PolicySettings } from '@goshawk/core';

/** A series: tiny tasks of one owner that run in a slot one after another. The end of each requests the next. */
export interface Series {
  /** When the slot received its first task. */
  readonly since: Millis;
  /** Central's match that gave the slot to the first task; 0 for any other source. */
  readonly match: number;
  /** The report of the last end. */
  readonly report: MessageOf<'ended'>;
}

/**
 * Returns the maximum duration in ms of a series, including the next task if it takes as long as the last. A series
 * delays other tasks no longer than one short task would, and saves the time to find work elsewhere, which is about
 * the run time of a tiny task. Returns 0 if the policy places tasks or decides each task at central.
 */
export function seriesMsOf(policy: PolicySettings): Millis {
  return findsWork(policy.preset) && policy.preset.byClass ? policy.seriesMs : 0;
}
