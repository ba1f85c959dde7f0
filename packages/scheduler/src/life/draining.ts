import type { Millis } from '@goshawk/core';
import { hasUnmetNeeds } from '../cluster/admission.js';
import type { Job } from '../job/job.js';
import type { JobListener } from '../job/job-events.js';
import type { SchedulerParts } from './parts.js';

// Detects when a draining scheduler may exit. Jobs that cannot continue do not delay the exit; they stay in the journal.

export function drainListener(s: SchedulerParts): JobListener {
  return {
    ended: () => reportIfDrained(s),
    changed: (job) => {
      if (job.isIdle) reportIfDrained(s);
    },
  };
}

export function reportIfDrained(s: SchedulerParts): void {
  if (s.cluster.isDraining && s.predecessors.areAllStuck(() => false)) s.env.drained();
}

/** Also reports the drain as complete if no worker can run the remaining jobs, once all workers have had time to join. */
export function reportIfStuck(s: SchedulerParts, now: Millis): void {
  const { cluster, ledger } = s;
  if (!cluster.isDraining || !ledger.hasJournal || cluster.mayMissWorkers(now)) return;
  const hasNoWorkers = cluster.members.size === 0;
  const isUnmet = (job: Job) => (hasNoWorkers ? job.runningCount === 0 : hasUnmetNeeds(job, cluster));
  if (s.predecessors.areAllStuck(isUnmet)) s.env.drained();
}
