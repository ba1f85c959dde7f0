import type { Millis } from '@goshawk/core';
import { retryUnanswered } from '../dispatch/routing.js';
import type { SchedulerState } from '../state/state.js';
import { repeatAbandoned, repeatKills } from './killing.js';
import { repeatQuestions } from './reconciling.js';

/** Maximum number of jobs per sweep, to bound its duration. The next sweep continues. */
const JOBS_PER_SWEEP_MAX = 5_000;

// Repeats unanswered messages, because any message may be lost.

export function sweep(s: SchedulerState, now: Millis): void {
  const lateMs = s.sweepTimer.fired(now);
  let open = repeatQuestions(s, lateMs, now);
  if (repeatAbandoned(s)) open = true;
  if (repeatForJobs(s, now)) open = true;
  if (open) s.sweepTimer.arm(now);
}

/** Visits the next jobs of the round, at most all. @returns whether any job of the round has unanswered messages */
function repeatForJobs(s: SchedulerState, now: Millis): boolean {
  const { retryMs } = s.cluster.timings;
  s.sweeping.round ??= s.jobs.active()[Symbol.iterator]();
  for (let left = JOBS_PER_SWEEP_MAX; left > 0; left--) {
    const { done, value: job } = s.sweeping.round.next();
    if (done) {
      const isOpen = s.sweeping.hasUnanswered;
      s.sweeping.round = undefined;
      s.sweeping.hasUnanswered = false;
      return isOpen;
    }
    if (retryUnanswered(s, job, retryMs, now)) s.sweeping.hasUnanswered = true;
    repeatKills(s, job);
  }
  return true;
}
