import { findsWork, type Millis, type OutcomeKind, type PolicySettings } from '@goshawk/core';
import { type Entry, entryOfGiven } from './entry.js';
import type { Running } from './slots.js';

/**
 * Whether a slot goes on with another task of the same owner, since its tasks are tiny: to find one elsewhere would
 * take about as long as to run it. The series is bounded in time, the next task included if it is like the last, so
 * that all others wait for no more than if it were one task of `seriesMs`.
 */
export function continuesSeries(
  { since, long, placedByCentral, orphaned }: Running,
  kind: OutcomeKind,
  runMs: Millis,
  seriesMs: Millis,
  now: Millis,
): boolean {
  if (kind !== 'completed' || long || placedByCentral || orphaned) return false;
  return now - since + runMs < seriesMs;
}

/** What the slot waits for after the task: any that fits where this one ran. */
export function entryAfter(task: Running): Entry {
  return entryOfGiven(task.owner, task);
}

/** For how long a series may last; 0 where others find work for workers, or a policy at central decides on each task. */
export function seriesMsOf(policy: PolicySettings | undefined): Millis {
  if (policy === undefined || !findsWork(policy.preset) || !policy.preset.byClass) return 0;
  return policy.seriesMs;
}
