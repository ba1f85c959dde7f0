import type { Address, MessageOf, Millis, TaskIndex } from '@goshawk/core';
import { type Job, TaskState } from '../job/job.js';
import { attemptKey } from '../job/task-table.js';
import type { JobStore } from './job-store.js';
import type { Ledger } from './ledger.js';

/**
 * Whether what is believed to run does run. A task may have been given out and never have come, and the news that its
 * worker gave it back may be lost as well: nobody else would ever say so. So workers that are believed to run
 * something for long are asked now and then what they hold, as after a restart.
 */
export class RunningTaskAudit {
  readonly #jobs: JobStore;
  readonly #ledger: Ledger;
  readonly #previousIncarnations: readonly Address[];
  /** Workers that were asked and have not answered. */
  readonly #asked = new Set<Address>();
  #askedAt: Millis = Number.NEGATIVE_INFINITY;
  /** Number of the last audit. */
  #round = 0;
  /** Tasks running since before this time should have reached the worker when it was asked. */
  #since: Millis = Number.NEGATIVE_INFINITY;

  constructor(jobs: JobStore, ledger: Ledger, previousIncarnations: readonly Address[]) {
    this.#jobs = jobs;
    this.#ledger = ledger;
    this.#previousIncarnations = previousIncarnations;
  }

  /**
   * Asks those that are believed to run something since `pauseMs` ago, once in so long.
   *
   * @returns whether anything is believed to run
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
    // Behind what waits until it is durable, of which those may be that it asks after.
    for (const worker of this.#asked)
      this.#ledger.send(worker, { type: 'resume', previousIncarnations, audit: this.#round });
    return true;
  }

  /** These will not answer. */
  lost(workers: Iterable<Address>): void {
    for (const worker of workers) this.#asked.delete(worker);
  }

  /**
   * A worker has said what it holds. An answer to an earlier question, which was held up on its way, says nothing of
   * what was given since.
   *
   * @returns what the worker was given long before it was asked, and does not hold
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
  for (const task of job.tasks.in(TaskState.running)) if (job.tasks.startedAt[task]! <= since) yield task;
}
