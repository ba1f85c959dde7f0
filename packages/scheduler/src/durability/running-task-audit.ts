import type { Address, MessageOf, Millis, TaskIndex } from '@goshawk/core';
import { type Job, TaskState } from '../job/job.js';
import { attemptKey } from '../job/task-table.js';
import type { JobStore } from './job-store.js';
import type { Ledger } from './ledger.js';

/**
 * Verifies that tasks believed to be running really run. A task may have been lost in flight, or its return may have
 * been lost, and no other message would reveal it. Workers with long-running tasks are therefore asked occasionally
 * what they hold, as after a restart.
 */
export class RunningTaskAudit {
  readonly #jobs: JobStore;
  readonly #ledger: Ledger;
  readonly #previousIncarnations: readonly Address[];
  /** Workers that have not answered yet. */
  readonly #asked = new Set<Address>();
  #askedAt: Millis = Number.NEGATIVE_INFINITY;
  /** Number of the last audit. */
  #round = 0;
  /** Tasks that started before this time should have reached their worker when it was asked. */
  #since: Millis = Number.NEGATIVE_INFINITY;

  constructor(jobs: JobStore, ledger: Ledger, previousIncarnations: readonly Address[]) {
    this.#jobs = jobs;
    this.#ledger = ledger;
    this.#previousIncarnations = previousIncarnations;
  }

  /**
   * Asks workers with tasks that started at least `pauseMs` ago, at most once in that time.
   *
   * @returns whether any task counts as running
   */
  start(pauseMs: Millis, now: Millis): boolean {
    const running = [...this.#jobs.active()].filter(({ runningCount }) => runningCount > 0);
    if (running.length === 0 || now - this.#askedAt < pauseMs) return running.length > 0;
    this.#askedAt = now;
    this.#since = now - pauseMs;
    this.#round++;
    this.#asked.clear();
    for (const job of running) {
      for (const task of tasksSince(job, this.#since)) this.#asked.add(job.tasks.workerOf(task));
    }
    const previousIncarnations = this.#previousIncarnations;
    // Sent after delayed messages, which may include the tasks in question.
    for (const worker of this.#asked)
      this.#ledger.send(worker, { type: 'resume', previousIncarnations, audit: this.#round });
    return true;
  }

  /** These workers will not answer. */
  lost(workers: Iterable<Address>): void {
    for (const worker of workers) this.#asked.delete(worker);
  }

  /**
   * A worker has answered. An answer to an earlier audit says nothing about tasks sent since.
   *
   * @returns tasks sent long before the question that the worker does not hold
   */
  missing(from: Address, { tasks, audit }: MessageOf<'holding'>): { job: Job; task: TaskIndex }[] {
    const missing: { job: Job; task: TaskIndex }[] = [];
    if (audit !== this.#round || !this.#asked.delete(from)) return missing;
    const held = new Set(tasks.map(attemptKey));
    for (const job of this.#jobs.active()) {
      for (const task of tasksSince(job, this.#since)) {
        if (job.tasks.workerOf(task) === from && !held.has(attemptKey(job.tasks.ref(task))))
          missing.push({ job, task });
      }
    }
    return missing;
  }
}

/** Tasks that have been running since then or longer. */
function* tasksSince(job: Job, since: Millis): Iterable<TaskIndex> {
  for (const task of job.tasks.in(TaskState.running)) if (job.tasks.startedAtOf(task) <= since) yield task;
}
