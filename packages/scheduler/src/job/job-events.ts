import type { Millis, Outcome, TaskIndex } from '@goshawk/core';
import type { Job } from './job.js';
import type { Tallies } from './tallies.js';

/** The scheduler calls these methods of its process when jobs change. */
export interface JobObserver {
  /** The scheduler accepted the job and has not acted on it yet. */
  jobAccepted?(job: Job): void;
  /** The acceptance is durable. Follows `jobAccepted`; tasks may have started before. */
  jobRecorded?(job: Job): void;
  /** The pilots of the job have determined its class. */
  jobClassified?(job: Job, now: Millis): void;
  /** The task was assigned to a worker: its current attempt is in flight. */
  taskBound?(job: Job, task: TaskIndex, now: Millis): void;
  /** A current attempt has ended. Called before the scheduler acts on it. */
  attemptEnded?(job: Job, task: TaskIndex, outcome: Outcome, runMs: Millis, now: Millis): void;
  /** The job has ended, and its record is complete. A retry may reopen the job. */
  jobEnded(job: Job): void;
}

/** A part of the scheduler that reacts to changes of jobs. */
export interface JobListener {
  /** The job has changed. @param hasResult whether a task has ended */
  changed?(job: Job, now: Millis, hasResult: boolean): void;
  ended?(job: Job, now: Millis): void;
}

/** Counts since the start of the process. */
export interface SchedulerCounters {
  jobsAccepted: number;
  jobsEnded: number;
  tasksBound: number;
  tasksCompleted: number;
  tasksFailed: number;
  /** Failed attempts that were retried. */
  retries: number;
  /** Attempts lost with their worker. */
  lost: number;
  probesSent: number;
  /** Probes cancelled before a worker served them. */
  probesRecalled: number;
  /** Worker requests (`ask`) answered with `none`. */
  asksRefused: number;
  /** Reports of attempts that are not current. */
  staleReports: number;
}

/** Counts job events, and forwards them to the observer and the listeners. */
export class JobEvents {
  readonly #observer: JobObserver;
  readonly #counters: SchedulerCounters;
  readonly #tallies: Tallies;
  #listeners: readonly JobListener[] = [];

  constructor(observer: JobObserver, counters: SchedulerCounters, tallies: Tallies) {
    this.#observer = observer;
    this.#counters = counters;
    this.#tallies = tallies;
  }

  /** Sets the listeners. They are called in this order. */
  setListeners(...listeners: readonly JobListener[]): void {
    this.#listeners = listeners;
  }

  /** All counters, in groups that can be summed over schedulers. */
  get counted() {
    return { ...this.#counters, ...this.#tallies.counted };
  }

  accepted(job: Job): void {
    this.#counters.jobsAccepted++;
    this.#observer.jobAccepted?.(job);
  }

  recorded(job: Job): void {
    this.#observer.jobRecorded?.(job);
  }

  classified(job: Job, now: Millis): void {
    this.#observer.jobClassified?.(job, now);
  }

  bound(job: Job, task: TaskIndex, now: Millis): void {
    this.#counters.tasksBound++;
    this.#tallies.taskBound(job, task, now);
    this.#observer.taskBound?.(job, task, now);
  }

  attemptEnded(job: Job, task: TaskIndex, outcome: Outcome, runMs: Millis, now: Millis): void {
    this.#observer.attemptEnded?.(job, task, outcome, runMs, now);
  }

  taskEnded(job: Job, end: 'completed' | 'failed'): void {
    if (end === 'completed') this.#counters.tasksCompleted++;
    else this.#counters.tasksFailed++;
    this.#tallies.taskEnded(job, end);
  }

  ended(job: Job, now: Millis): void {
    this.#counters.jobsEnded++;
    this.#tallies.jobEnded(job, now);
    this.#observer.jobEnded(job);
    for (const listener of this.#listeners) listener.ended?.(job, now);
  }

  changed(job: Job, now: Millis, hasResult = false): void {
    for (const listener of this.#listeners) listener.changed?.(job, now, hasResult);
  }
}
