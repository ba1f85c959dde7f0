import type { Address, MessageOf, Millis } from '@goshawk/core';
import type { Endings } from '../ending/endings.js';
import { type Job, TaskState } from '../job/job.js';
import type { Members } from '../joining/members.js';
import type { JobStore } from '../keeping/job-store.js';
import type { Ledger } from '../keeping/ledger.js';

/** What a census has to know of the scheduler around it. */
interface Surroundings {
  readonly ledger: Ledger;
  readonly jobs: JobStore;
  readonly members: Members;
  readonly endings: Endings;
  /** Earlier incarnations, as workers knew them. */
  readonly formers: readonly Address[];
}

/**
 * Whether what is believed to run does run. A task may have been given out and never have come, and the news that its
 * worker gave it back may be lost as well: then nobody else would ever say so. So workers that are believed to run
 * something for long are asked now and then what they hold, as after a restart, and what they do not know of waits
 * again.
 */
export class Census {
  readonly #around: Surroundings;
  /** Workers that were asked and have not answered. */
  readonly #asked = new Set<Address>();
  /** Attempts that were sent to them since. */
  readonly #sentAgain = new Set<string>();
  #askedAt: Millis = Number.NEGATIVE_INFINITY;
  /** The last one that was taken. */
  #number = 0;
  /** What has run since then, or longer, should have come to its worker when that was asked. */
  #since: Millis = Number.NEGATIVE_INFINITY;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  /**
   * Asks those that are believed to run something since `pauseMs` ago, once in so long.
   *
   * @returns whether anything is believed to run
   */
  take(pauseMs: Millis, now: Millis): boolean {
    const running = [...this.#around.jobs.active()].filter(({ runningCount }) => runningCount > 0);
    if (running.length === 0 || now - this.#askedAt < pauseMs) return running.length > 0;
    this.#askedAt = now;
    this.#since = now - pauseMs;
    this.#number++;
    this.#asked.clear();
    this.#sentAgain.clear();
    for (const job of running) {
      for (const task of tasksSince(job, this.#since)) this.#asked.add(job.workerOf(task));
    }
    // Behind what waits until it is durable, of which those may be that it asks after.
    const { ledger, formers } = this.#around;
    for (const worker of this.#asked) ledger.send(worker, { type: 'resume', formers, census: this.#number });
    return true;
  }

  /** It was given out again since they were asked, and may not have come yet. */
  sentAgain(job: Job, task: number): void {
    if (this.#asked.has(job.workerOf(task)))
      this.#sentAgain.add(nameOf(job.number, task, job.attempts[task]!));
  }

  /** These will not answer. */
  lost(workers: Iterable<Address>): void {
    for (const worker of workers) this.#asked.delete(worker);
  }

  /**
   * What a worker holds: whatever else it was given long before it was asked is not there. An answer to an earlier question,
   * which was held up on its way, says nothing of what was given since.
   */
  holding(from: Address, { tasks, census }: MessageOf<'holding'>, now: Millis): void {
    if (census !== this.#number || !this.#asked.delete(from)) return;
    const held = new Set(this.#sentAgain);
    for (const { job, task, attempt } of tasks) held.add(nameOf(job, task, attempt));
    for (const job of [...this.#around.jobs.active()]) {
      if (job.runningCount === 0) continue;
      for (const task of [...tasksSince(job, this.#since)]) {
        if (job.workerOf(task) !== from || held.has(nameOf(job.number, task, job.attempts[task]!))) continue;
        if (!job.hasEnded) this.#around.endings.declined(job, task, now);
      }
    }
  }
}

/** What runs since then, or longer. */
function* tasksSince(job: Job, since: Millis): Iterable<number> {
  for (let task = 0; task < job.taskCount; task++) {
    if (job.states[task] === TaskState.running && job.startedAt[task]! <= since) yield task;
  }
}

function nameOf(job: number, task: number, attempt: number): string {
  return `${job}/${task}/${attempt}`;
}
