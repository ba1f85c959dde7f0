import { sumOf } from '@goshawk/core';
import type { Worker } from '@goshawk/worker';
import { byLabel, byLabels, type Readings } from './exposition.js';
import type { RunTallies } from './run-tallies.js';

/** Readings of all workers in a process. */
export function workerReadings(workers: readonly Worker[], { ended, runMs }: RunTallies): Readings {
  const sum = (of: (worker: Worker) => number): number => sumOf(workers, of);
  const members = sum(({ isMember }) => (isMember ? 1 : 0));
  return {
    goshawk_worker_workers: byLabel('state', { member: members, apart: workers.length - members }),
    goshawk_worker_slots: sum(({ load }) => load.slots),
    goshawk_worker_busy_slots: byLabel('class', {
      short: sum(({ load }) => load.busy.short),
      long: sum(({ load }) => load.busy.long),
    }),
    goshawk_worker_paused_tasks: sum(({ load }) => load.paused),
    goshawk_worker_queued_entries: sum(({ load }) => load.queued),
    goshawk_worker_unconfirmed_reports: sum(({ load }) => load.unconfirmed),
    goshawk_worker_tasks_started_total: sum(({ counters }) => counters.tasksStarted),
    goshawk_worker_tasks_ended_total: byLabels(['class', 'outcome'], ended),
    goshawk_worker_task_run_seconds: byLabel('class', runMs),
    goshawk_worker_steal_attempts_total: sum(({ counters }) => counters.stealAttempts),
    goshawk_worker_steals_total: sum(({ counters }) => counters.stealSuccesses),
    goshawk_worker_probes_stolen_total: sum(({ counters }) => counters.probesMoved),
    goshawk_worker_pauses_total: sum(({ counters }) => counters.pauses),
    goshawk_worker_lent_cpu_seconds_total: sum(({ counters }) => counters.lentCpuMs) / 1_000,
    goshawk_worker_declined_total: sum(({ counters }) => counters.declined),
  };
}
