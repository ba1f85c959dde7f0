import { type Address, type Member, type MessageOf, NOBODY, type TaskIndex } from '@goshawk/core';
import { type AttemptRef, isSameAttempt } from '../job/attempt-ref.js';
import type { Job } from '../job/job.js';
import type { Ledger } from '../keeping/ledger.js';

/** What was given up is remembered of so many workers, the latest that were lost. */
const WORKERS_MAX = 1_000;

/**
 * Attempts that count no more, at workers that may run them. A worker that was only silent runs them for nobody: it is
 * told to end them, at once and when it is a member again.
 */
export class AbandonedAttempts {
  readonly #ledger: Ledger;
  /** The workers of the latest last. */
  readonly #byWorker = new Map<Address, AttemptRef[]>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  add(job: Job, task: TaskIndex): void {
    const worker = job.tasks.workerOf(task);
    if (worker <= NOBODY) return;
    const attempt = job.tasks.ref(task);
    const attempts = this.#byWorker.get(worker) ?? [];
    attempts.push(attempt);
    this.#byWorker.delete(worker);
    this.#byWorker.set(worker, attempts);
    if (this.#byWorker.size > WORKERS_MAX) this.#byWorker.delete(this.#byWorker.keys().next().value!);
    this.#cancel(worker, attempt);
  }

  /** Workers that were lost, and were not: what they were told may not have come. */
  cameBack(workers: readonly Member[]): void {
    if (this.#byWorker.size === 0) return;
    for (const { address } of workers)
      for (const attempt of this.#byWorker.get(address) ?? []) this.#cancel(address, attempt);
  }

  /** The worker does not run it, or no more. */
  settled(worker: Address, attempt: AttemptRef): void {
    const attempts = this.#byWorker.get(worker);
    if (attempts === undefined) return;
    const left = attempts.filter((one) => !isSameAttempt(one, attempt));
    if (left.length === 0) this.#byWorker.delete(worker);
    else this.#byWorker.set(worker, left);
  }

  #cancel(worker: Address, attempt: AttemptRef): void {
    const message: MessageOf<'cancelTask'> = { type: 'cancelTask', ...attempt };
    // Behind the task itself, which may wait for the disk.
    this.#ledger.send(worker, message);
  }
}
