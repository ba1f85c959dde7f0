import {
  type ByClass,
  byClass,
  Histogram,
  type Millis,
  OUTCOMES,
  type OutcomeKind,
  sumOf,
} from '@goshawk/core';
import type { Worker } from '@goshawk/worker';
import { byLabel, byLabels, type Readings } from './exposition.js';

/** Bounds of run times in ms, from empty tasks to tasks of a day. */
const RUN_BOUNDS_MS = [
  1, 5, 10, 50, 100, 500, 1_000, 5_000, 10_000, 60_000, 300_000, 1_800_000, 7_200_000, 86_400_000,
];

/** Outcomes and run times of the runs of all workers in a process. */
export class RunTallies {
  readonly ended: ByClass<Record<OutcomeKind, number>> = byClass(
    () => Object.fromEntries(OUTCOMES.map((kind) => [kind, 0])) as Record<OutcomeKind, number>,
  );
  readonly runMs: ByClass<Histogram> = byClass(() => new Histogram(RUN_BOUNDS_MS));

  /** @param long whether the job was classified as long at its start */
  runEnded(long: boolean, kind: OutcomeKind, runMs: Millis): void {
    const jobClass = long ? 'long' : 'short';
    this.ended[jobClass][kind]++;
    this.runMs[jobClass].add(runMs);
  }
}

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
