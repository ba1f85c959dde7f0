import {
  type Address,
  type AttemptNumber,
  type Millis,
  NOBODY,
  setLatest,
  type TaskIndex,
} from '@goshawk/core';
import type { ReportedEnd, UnreportedAttempt } from '../durability/accounting.js';
import { type AttemptRef, attemptKey } from '../job/assignment.js';
import type { Job } from '../job/job.js';
import { TaskState } from '../job/task-state.js';
import type { SchedulerState } from '../state.js';

/** Maximum number of workers whose abandoned attempts are tracked. */
const ABANDONED_WORKERS_MAX = 1_000;

interface AbandonedAttempt {
  readonly ref: AttemptRef;
  readonly usage: UnreportedAttempt;
}

/**
 * Makes workers end attempts. Attempts of cancelled tasks and broken gangs count as running until their workers report
 * the end. Abandoned attempts have already ended here, because the job was given up or the worker was lost, but may
 * still run there. Each request is repeated until the worker reports that the attempt ended or never started.
 */
export class Killing {
  readonly #s: SchedulerState;
  /** Abandoned attempts by worker and key, latest worker last. */
  readonly #abandoned = new Map<Address, Map<string, AbandonedAttempt>>();

  constructor(s: SchedulerState) {
    this.#s = s;
  }

  kill(worker: Address, attempt: AttemptRef): void {
    // Sent after the task, which may wait for durability.
    if (worker > NOBODY) this.#s.ledger.sendWhenDurable(worker, { type: 'cancelTask', ...attempt });
  }

  /** Kills an attempt that has already ended here. @param runMs counted run time; the worker may report another one */
  abandon(job: Job, task: TaskIndex, runMs: Millis, now: Millis): void {
    const worker = job.tasks.workerOf(task);
    if (worker <= NOBODY) return;
    const ref = job.tasks.ref(task);
    this.#addAbandoned(worker, { ref, usage: this.#s.accounting.unreported(job, task, runMs, now) });
    this.kill(worker, ref);
    this.#s.sweepTimer.arm(now);
  }

  /** Ends an attempt that has no record here. It is not counted, and its end is not recorded. */
  abandonUnrecorded(
    worker: Address,
    job: Job,
    { task, attempt, elapsedMs }: { task: TaskIndex; attempt: AttemptNumber; elapsedMs: Millis },
    now: Millis,
  ): void {
    const counted = { ...this.#s.accounting.unreported(job, task, elapsedMs, now), runMs: undefined };
    this.#addAbandoned(worker, { ref: { job: job.number, task, attempt }, usage: counted });
  }

  #addAbandoned(worker: Address, attempt: AbandonedAttempt): void {
    const attempts = this.#abandoned.get(worker) ?? new Map<string, AbandonedAttempt>();
    setLatest(this.#abandoned, worker, attempts.set(attemptKey(attempt.ref), attempt), ABANDONED_WORKERS_MAX);
  }

  /** Repeats requests to end running attempts of the job. */
  repeatFor(job: Job): void {
    if (!job.cancelling && !job.hasCancelledTasks && !job.hasGangs) return;
    for (const task of job.tasks.inStates(TaskState.running))
      if (job.mustEnd(task)) this.kill(job.tasks.workerOf(task), job.tasks.ref(task));
  }

  /** Repeats requests to end abandoned attempts at workers that are present. @returns whether there are any */
  repeatAbandoned(workers: Iterable<Address> = this.#abandoned.keys()): boolean {
    let hasAny = false;
    if (this.#abandoned.size === 0) return hasAny;
    for (const worker of workers) {
      if (!this.#s.cluster.members.has(worker)) continue;
      for (const { ref } of this.#abandoned.get(worker)?.values() ?? []) {
        this.kill(worker, ref);
        hasAny = true;
      }
    }
    return hasAny;
  }

  /** The worker has ended the attempt, or (without an end) never started it. */
  endReported(worker: Address, ref: AttemptRef, end: ReportedEnd | undefined, now: Millis): void {
    const attempts = this.#abandoned.get(worker);
    const attempt = attempts?.get(attemptKey(ref));
    if (attempt === undefined) return;
    attempts!.delete(attemptKey(ref));
    if (attempts!.size === 0) this.#abandoned.delete(worker);
    this.#s.accounting.correct(attempt.usage, end, now);
  }
}
