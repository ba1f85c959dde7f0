import {
  type Address,
  type AttemptNumber,
  type Member,
  type Millis,
  NOBODY,
  setLatest,
  type TaskIndex,
} from '@goshawk/core';
import type { Accounting, ReportedEnd, UnreportedAttempt } from '../durability/accounting.js';
import type { Ledger } from '../durability/ledger.js';
import type { Job } from '../job/job.js';
import { type AttemptRef, attemptKey } from '../job/task-table.js';

/** Maximum number of lost workers whose abandoned attempts are remembered. */
const WORKERS_MAX = 1_000;

interface AbandonedAttempt {
  readonly ref: AttemptRef;
  readonly counted: UnreportedAttempt;
}

/**
 * Attempts that no longer count, at workers that may still run them. A worker that was only silent receives a request to kill
 * them: immediately, and when it is a member again.
 */
export class AbandonedAttempts {
  readonly #ledger: Ledger;
  readonly #accounting: Accounting;
  /** Attempts by worker and key, latest worker last. */
  readonly #byWorker = new Map<Address, Map<string, AbandonedAttempt>>();

  constructor({ ledger, accounting }: { readonly ledger: Ledger; readonly accounting: Accounting }) {
    this.#ledger = ledger;
    this.#accounting = accounting;
  }

  /** @param runMs counted run time; the worker may report another one */
  add(job: Job, task: TaskIndex, runMs: Millis, now: Millis): void {
    const worker = job.tasks.workerOf(task);
    if (worker <= NOBODY) return;
    const ref = job.tasks.ref(task);
    this.#remember(worker, { ref, counted: this.#accounting.unreported(job, task, runMs, now) });
    this.#cancel(worker, ref);
  }

  /** The worker runs an attempt of which there is no record: it was not counted, and its end is not recorded. */
  addUnrecorded(
    worker: Address,
    job: Job,
    { task, attempt, elapsedMs }: { task: TaskIndex; attempt: AttemptNumber; elapsedMs: Millis },
    now: Millis,
  ): void {
    const counted = { ...this.#accounting.unreported(job, task, elapsedMs, now), runMs: undefined };
    this.#remember(worker, { ref: { job: job.number, task, attempt }, counted });
  }

  #remember(worker: Address, attempt: AbandonedAttempt): void {
    const attempts = this.#byWorker.get(worker) ?? new Map<string, AbandonedAttempt>();
    setLatest(this.#byWorker, worker, attempts.set(attemptKey(attempt.ref), attempt), WORKERS_MAX);
  }

  /** Workers that were considered lost have returned, and may not have received the cancellations. */
  returned(workers: readonly Member[]): void {
    if (this.#byWorker.size === 0) return;
    for (const { address } of workers)
      for (const { ref } of this.#byWorker.get(address)?.values() ?? []) this.#cancel(address, ref);
  }

  /** The worker has ended the attempt, or (without an end) never started it. */
  settled(worker: Address, ref: AttemptRef, end: ReportedEnd | undefined, now: Millis): void {
    const attempts = this.#byWorker.get(worker);
    const attempt = attempts?.get(attemptKey(ref));
    if (attempt === undefined) return;
    attempts!.delete(attemptKey(ref));
    if (attempts!.size === 0) this.#byWorker.delete(worker);
    this.#accounting.correct(attempt.counted, end, now);
  }

  #cancel(worker: Address, attempt: AttemptRef): void {
    // Sent after the task itself, which may wait for the disk.
    this.#ledger.send(worker, { type: 'cancelTask', ...attempt });
  }
}
