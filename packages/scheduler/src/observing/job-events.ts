import type { Millis, Outcome, TaskIndex } from '@goshawk/core';
import type { Overload } from '../accepting/overload.js';
import type { Watching } from '../clients/watching.js';
import type { SchedulerCounters, SchedulerEnvironment } from '../contract.js';
import type { Job } from '../job/job.js';
import type { Tallies } from './tallies.js';

/** What happens to jobs, for those who only look: the driver, counts, and clients that watch. */
export class JobEvents {
  readonly #env: SchedulerEnvironment;
  readonly #counters: SchedulerCounters;
  readonly #tallies: Tallies;
  readonly #overload: Overload;
  readonly #watching: Watching;

  constructor(
    env: SchedulerEnvironment,
    counters: SchedulerCounters,
    tallies: Tallies,
    overload: Overload,
    watching: Watching,
  ) {
    this.#env = env;
    this.#counters = counters;
    this.#tallies = tallies;
    this.#overload = overload;
    this.#watching = watching;
  }

  /** All counts, as groups that add up over several schedulers. */
  get counted() {
    return { ...this.#counters, ...this.#tallies.counted };
  }

  accepted(job: Job): void {
    this.#counters.jobsAccepted++;
    this.#env.jobAccepted?.(job);
  }

  /** It was decided what the job is, by its pilots. */
  decided(job: Job, now: Millis): void {
    this.#env.jobDecided?.(job, now);
  }

  /** A worker was given the task. */
  bound(job: Job, task: TaskIndex, now: Millis): void {
    this.#counters.tasksBound++;
    this.#tallies.taskBound(job, task, now);
    this.#env.taskBound?.(job, task, now);
  }

  /** A worker asked, and got nothing. */
  askRefused(): void {
    this.#counters.asksRefused++;
  }

  /** An attempt that counts has ended; nothing has become of that yet. */
  attemptEnded(job: Job, task: TaskIndex, outcome: Outcome, runMs: Millis, now: Millis): void {
    this.#env.attemptEnded?.(job, task, outcome, runMs, now);
  }

  attemptLost(): void {
    this.#counters.lost++;
  }

  retried(): void {
    this.#counters.retries++;
  }

  taskEnded(job: Job, end: 'completed' | 'failed'): void {
    if (end === 'completed') this.#counters.tasksCompleted++;
    else this.#counters.tasksFailed++;
    this.#tallies.taskEnded(job, end);
  }

  cancelled(): void {
    this.#tallies.cancellations++;
  }

  ended(job: Job, now: Millis): void {
    this.#counters.jobsEnded++;
    this.#tallies.jobEnded(job, now);
    this.#env.jobEnded(job);
    this.#overload.jobEnded(now);
    this.#watching.ended(job, now);
  }

  /** Something about the job is new. */
  changed(job: Job, now: Millis): void {
    this.#watching.changed(job, now);
  }
}
