import type { Millis, Outcome, TaskIndex } from '@goshawk/core';
import type { Watching } from '../api/watching.js';
import type { Overload } from '../life/overload.js';
import type { SchedulerState } from '../state.js';
import type { Job } from './job.js';

/** Events of jobs for observers: the driver, counters, and watching clients. */
export class JobEvents {
  readonly #s: SchedulerState;
  readonly #overload: Overload;
  readonly #watching: Watching;
  readonly #mayBeStuck: () => void;

  /** @param mayBeStuck called when nothing of a job runs any more that its user holds */
  constructor(s: SchedulerState, overload: Overload, watching: Watching, mayBeStuck: () => void) {
    this.#s = s;
    this.#overload = overload;
    this.#watching = watching;
    this.#mayBeStuck = mayBeStuck;
  }

  /** All counts, as groups that add up over several schedulers. */
  get counted() {
    return { ...this.#s.counters, ...this.#s.tallies.counted };
  }

  accepted(job: Job): void {
    this.#s.counters.jobsAccepted++;
    this.#s.env.jobAccepted?.(job);
  }

  /** It was decided what the job is, by its pilots. */
  decided(job: Job, now: Millis): void {
    this.#s.env.jobDecided?.(job, now);
  }

  /** A worker was given the task. */
  bound(job: Job, task: TaskIndex, now: Millis): void {
    this.#s.counters.tasksBound++;
    this.#s.tallies.taskBound(job, task, now);
    this.#s.env.taskBound?.(job, task, now);
  }

  /** An attempt that counts has ended; nothing has become of that yet. */
  attemptEnded(job: Job, task: TaskIndex, outcome: Outcome, runMs: Millis, now: Millis): void {
    this.#s.env.attemptEnded?.(job, task, outcome, runMs, now);
  }

  taskEnded(job: Job, end: 'completed' | 'failed'): void {
    if (end === 'completed') this.#s.counters.tasksCompleted++;
    else this.#s.counters.tasksFailed++;
    this.#s.tallies.taskEnded(job, end);
  }

  ended(job: Job, now: Millis): void {
    this.#s.counters.jobsEnded++;
    this.#s.tallies.jobEnded(job, now);
    this.#s.env.jobEnded(job);
    this.#overload.jobEnded(now);
    this.#watching.ended(job, now);
  }

  /** Something about the job is new. */
  changed(job: Job, now: Millis): void {
    this.#watching.changed(job, now);
    if (job.isHeld && job.runningCount === 0) this.#mayBeStuck();
  }
}
