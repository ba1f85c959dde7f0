import { type Address, type Member, NOBODY, setLatest, type TaskIndex } from '@goshawk/core';
import type { Ledger } from '../durability/ledger.js';
import type { Job } from '../job/job.js';
import { type AttemptRef, attemptKey } from '../job/task-table.js';

/** Maximum number of lost workers whose abandoned attempts are remembered. */
const WORKERS_MAX = 1_000;

/**
 * Attempts that no longer count, at workers that may still run them. A worker that was only silent receives a request to kill
 * them: immediately, and when it is a member again.
 */
export class AbandonedAttempts {
  readonly #ledger: Ledger;
  /** Attempts by worker and key, latest worker last. */
  readonly #byWorker = new Map<Address, Map<string, AttemptRef>>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  add(job: Job, task: TaskIndex): void {
    const worker = job.tasks.workerOf(task);
    if (worker <= NOBODY) return;
    const attempt = job.tasks.ref(task);
    const attempts = this.#byWorker.get(worker) ?? new Map<string, AttemptRef>();
    setLatest(this.#byWorker, worker, attempts.set(attemptKey(attempt), attempt), WORKERS_MAX);
    this.#cancel(worker, attempt);
  }

  /** Workers that were considered lost have returned, and may not have received the cancellations. */
  returned(workers: readonly Member[]): void {
    if (this.#byWorker.size === 0) return;
    for (const { address } of workers)
      for (const attempt of this.#byWorker.get(address)?.values() ?? []) this.#cancel(address, attempt);
  }

  /** The worker does not run the attempt, or has ended it. */
  settled(worker: Address, attempt: AttemptRef): void {
    const attempts = this.#byWorker.get(worker);
    if (attempts?.delete(attemptKey(attempt)) && attempts.size === 0) this.#byWorker.delete(worker);
  }

  #cancel(worker: Address, attempt: AttemptRef): void {
    // Sent after the task itself, which may wait for the disk.
    this.#ledger.send(worker, { type: 'cancelTask', ...attempt });
  }
}
