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
 * Returns the maximum duration of a series, including the next task if it takes as long as the last. Within this time
 * other tasks wait no longer than for a single task, and finding work elsewhere would take about as long as running a
 * tiny task. Returns 0 if the policy places tasks or decides each task at central.
 */
export function seriesMsOf(policy: PolicySettings): Millis {
  return findsWork(policy.preset) && policy.preset.byClass ? policy.seriesMs : 0;
}
