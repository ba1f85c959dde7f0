import type { Millis } from '@goshawk/core';
import type { SchedulerParts } from './parts.js';
import { startIfRecovered } from './restarting.js';

/** Running tasks are audited once in this many retries. */
const AUDIT_RETRIES = 10;

/** Sends again what was not answered: each message may be lost, and each part has a net for its own. */
export function sweep(s: SchedulerParts, now: Millis): void {
  const lateMs = s.sweepTimer.fired(now);
  const { retryMs, leaseMs } = s.cluster.timings;
  let open = s.recovery.askAgain(leaseMs, lateMs, now);
  startIfRecovered(s, now);
  if (s.audit.start(AUDIT_RETRIES * retryMs, now)) open = true;
  if (s.delivery.resendDoubtful(now)) open = true;
  for (const job of s.jobs.active()) {
    if (s.routing.askAgain(job, retryMs, now)) open = true;
    if (s.endings.repeatBreaking(job)) open = true;
    if (!job.cancelling && !job.hasCancelledTasks) continue;
    open = true;
    s.cancelling.repeat(job);
  }
  if (open) s.sweepTimer.arm(now);
}
