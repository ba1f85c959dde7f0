import type { Histogram, Millis } from '@goshawk/core';
import type { JournalMetrics } from '@goshawk/journal';
import type { Scheduler } from '@goshawk/scheduler';
import { JOURNAL_STATES } from './catalogue.js';
import { byLabel, byLabels, type Readings } from './exposition.js';

export function schedulerReadings(scheduler: Scheduler, now: Millis): Readings {
  const { counters, tallies } = scheduler;
  const { jobs, running, waiting, oldestWaitMs, probesOut } = scheduler.snapshot(now);
  return {
    goshawk_scheduler_jobs: byLabel('state', jobs),
    goshawk_scheduler_jobs_accepted_total: counters.jobsAccepted,
    goshawk_scheduler_jobs_refused_total: byLabel('reason', tallies.jobsRefused),
    goshawk_scheduler_jobs_ended_total: byLabels(['class', 'outcome'], tallies.jobsEnded),
    goshawk_scheduler_cancellations_total: tallies.cancellations,
    goshawk_scheduler_job_duration_seconds: byLabel('class', tallies.jobMs),
    goshawk_scheduler_queueing_seconds: byLabel('class', tallies.queueingMs),
    goshawk_waiting_tasks: byLabels(['class', 'reason'], waiting),
    goshawk_oldest_waiting_seconds: byLabel('class', {
      short: oldestWaitMs.short / 1_000,
      long: oldestWaitMs.long / 1_000,
    }),
    goshawk_scheduler_running_tasks: byLabel('class', running),
    goshawk_scheduler_tasks_bound_total: counters.tasksBound,
    goshawk_scheduler_tasks_ended_total: byLabels(['class', 'outcome'], tallies.tasksEnded),
    goshawk_scheduler_retries_total: counters.retries,
    goshawk_scheduler_attempts_lost_total: counters.lost,
    goshawk_scheduler_stale_reports_total: counters.staleReports,
    goshawk_scheduler_probes_sent_total: counters.probesSent,
    goshawk_scheduler_probes_recalled_total: counters.probesRecalled,
    goshawk_scheduler_probes_out: probesOut,
    goshawk_scheduler_asks_refused_total: counters.asksRefused,
    goshawk_scheduler_estimator_failures_total: scheduler.estimatorFailures,
    goshawk_scheduler_known_workers: scheduler.knownWorkers,
    goshawk_scheduler_central_silent: scheduler.isCentralSilent(now) ? 1 : 0,
    goshawk_scheduler_held_answers: scheduler.pendingAnswers,
    goshawk_scheduler_active_jobs_bytes: scheduler.activeBytes,
  };
}

export function journalReadings(metrics: JournalMetrics, commitMs: Histogram): Readings {
  const current = metrics.state === 'stopped' ? 'full' : metrics.state;
  const states = JOURNAL_STATES.map((state) => [state, state === current ? 1 : 0] as const);
  return {
    goshawk_journal_state: byLabel('state', Object.fromEntries(states)),
    goshawk_journal_file_bytes: metrics.fileBytes,
    goshawk_journal_used_bytes: metrics.usedBytes,
    goshawk_journal_disk_free_bytes: metrics.freeBytes,
    goshawk_journal_backup_age_seconds:
      metrics.backupAgeMs === undefined ? undefined : metrics.backupAgeMs / 1_000,
    goshawk_journal_records_appended_total: metrics.recordsAppended,
    goshawk_journal_records_written_total: metrics.recordsWritten,
    goshawk_journal_commit_seconds: commitMs,
  };
}
