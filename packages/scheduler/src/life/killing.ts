import {
  type Address,
  type AttemptNumber,
  type Millis,
  NOBODY,
  setLatest,
  type TaskIndex,
} from '@goshawk/core';
import type { ReportedEnd } from '../durability/accounting.js';
import { type AttemptRef, attemptKey } from '../job/assignment.js';
import type { Job } from '../job/job.js';
import { TaskState } from '../job/task-state.js';
import type { AbandonedAttempt, SchedulerState } from '../state/state.js';

/** Maximum number of workers whose abandoned attempts are tracked. */
const ABANDONED_WORKERS_MAX = 1_000;

// Makes workers end attempts. Attempts of cancelled tasks and broken gangs count as running until their workers report
// the end. Abandoned attempts have already ended here, because the job was given up or the worker was lost, but may
// still run there. Each request is repeated until the worker reports that the attempt ended or never started.

export function killAttempt(s: SchedulerState, worker: Address, attempt: AttemptRef): void {
  // Sent after the task, which may wait for durability.
  if (worker > NOBODY) s.ledger.sendWhenDurable(worker, { type: 'cancelTask', ...attempt });
}

/** Kills an attempt that has already ended here. @param runMs counted run time; the worker may report another one */
export function abandonAttempt(
  s: SchedulerState,
  job: Job,
  task: TaskIndex,
  runMs: Millis,
  now: Millis,
): void {
  const worker = job.tasks.workerOf(task);
  if (worker <= NOBODY) return;
  const ref = job.tasks.ref(task);
  addAbandoned(s, worker, { ref, usage: s.accounting.unreported(job, task, runMs, now) });
  killAttempt(s, worker, ref);
  s.sweepTimer.arm(now);
}

/** Ends an attempt that has no record here. It is not counted, and its end is not recorded. */
export function abandonUnrecorded(
  s: SchedulerState,
  worker: Address,
  job: Job,
  { task, attempt, elapsedMs }: { task: TaskIndex; attempt: AttemptNumber; elapsedMs: Millis },
  now: Millis,
): void {
  const counted = { ...s.accounting.unreported(job, task, elapsedMs, now), runMs: undefined };
  addAbandoned(s, worker, { ref: { job: job.number, task, attempt }, usage: counted });
}

function addAbandoned(s: SchedulerState, worker: Address, attempt: AbandonedAttempt): void {
  const attempts = s.abandoned.get(worker) ?? new Map<string, AbandonedAttempt>();
  setLatest(s.abandoned, worker, attempts.set(attemptKey(attempt.ref), attempt), ABANDONED_WORKERS_MAX);
}

/** Repeats requests to end running attempts of the job. */
export function repeatKills(s: SchedulerState, job: Job): void {
  if (!job.cancelling && !job.hasCancelledTasks && !job.hasGangs) return;
  for (const task of job.tasks.inStates(TaskState.running))
    if (job.mustEnd(task)) killAttempt(s, job.tasks.workerOf(task), job.tasks.ref(task));
}

/** Repeats requests to end abandoned attempts at workers that are present. @returns whether there are any */
export function repeatAbandoned(s: SchedulerState, workers: Iterable<Address> = s.abandoned.keys()): boolean {
  let hasAny = false;
  if (s.abandoned.size === 0) return hasAny;
  for (const worker of workers) {
    if (!s.cluster.members.has(worker)) continue;
    for (const { ref } of s.abandoned.get(worker)?.values() ?? []) {
      killAttempt(s, worker, ref);
      hasAny = true;
    }
  }
  return hasAny;
}

/** The worker has ended the attempt, or (without an end) never started it. */
export function abandonedEnded(
  s: SchedulerState,
  worker: Address,
  ref: AttemptRef,
  end: ReportedEnd | undefined,
  now: Millis,
): void {
  const attempts = s.abandoned.get(worker);
  const attempt = attempts?.get(attemptKey(ref));
  if (attempt === undefined) return;
  attempts!.delete(attemptKey(ref));
  if (attempts!.size === 0) s.abandoned.delete(worker);
  s.accounting.correct(attempt.usage, end, now);
}
