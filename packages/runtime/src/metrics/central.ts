import type { Central, CountedWorkers } from '@goshawk/central';
import type { Millis } from '@goshawk/core';
import { byLabel, type Readings, type Sample } from './exposition.js';

/** @param failedLater exceptions of the policy outside of its calls */
export function centralReadings(central: Central, now: Millis, failedLater = 0): Readings {
  const { counters, planning } = central;
  const status = central.status(now);
  const workersBy = (count: (workers: CountedWorkers) => number): Sample[] =>
    status.workers.map((workers) => ({
      labels: { partition: workers.partition, state: workers.state },
      value: count(workers),
    }));
  return {
    goshawk_central_workers: workersBy(({ count }) => count),
    goshawk_central_slots: workersBy(({ slots }) => slots),
    goshawk_central_schedulers: byLabel('state', {
      present: status.schedulers,
      away: status.schedulersAway,
      missing: status.schedulersMissing,
    }),
    goshawk_central_lost_workers: status.lostWorkers,
    goshawk_central_unowned_journals: status.unownedJournals,
    goshawk_central_workers_joined_total: counters.workersJoined,
    goshawk_central_leases_lost_total: byLabel('party', {
      worker: counters.workersLost,
      scheduler: counters.schedulersLost,
    }),
    goshawk_central_tasks_placed_total: counters.tasksPlaced,
    goshawk_central_placed_tasks: status.placedTasks,
    goshawk_central_pending_tasks: status.pendingTasks,
    goshawk_central_matches_total: status.matches,
    goshawk_central_unmatched_tasks: byLabel('kind', status.unmatchedTasks),
    goshawk_central_matching: status.isMatching ? 1 : 0,
    goshawk_central_policy_failures_total: (planning.policyFailures ?? 0) + failedLater,
  };
}
