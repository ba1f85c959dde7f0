import {
  type CentralLine,
  InputError,
  isFinal,
  type JobDetail,
  type JobEvent,
  type JobExplanation,
  type JobState,
  type JobSummary,
  type Millis,
  PRIORITIES,
  type Priority,
  type Question,
  type TaskRange,
  type TaskResult,
  type TaskRow,
} from '@goshawk/core';
import { randomName } from '@goshawk/transport';
import { onAbort } from './abort.js';
import { type CancelledTasks, type CancelTasksOptions, rangesOf, type TaskChoice } from './cancelling.js';
import { JobCancelled, JobFailed, WaitTimeout } from './errors.js';
import { lineOf, withCentral } from './explanations.js';
import { jobEvents } from './job-events.js';
import { jobLogs, type LogChunk, type LogOptions, type TaskOutput, taskOutput } from './job-logs.js';
import {
  checkOrder,
  type EachResultOptions,
  eachResult,
  type ResultRange,
  type Results,
  readResults,
  readValues,
} from './job-results.js';
import { readTasks, type Tasks, type TasksOptions, taskPages, tasksOfStage } from './job-tasks.js';
import { type Appended, type Appending, appendTasks } from './open-jobs.js';
import type { CallOptions } from './options.js';
import type { Answer } from './requests.js';
import { type Ask, askOwner, type Session } from './session.js';
import { checkKey } from './submission.js';
import { type EndedEvent, type WatchOrder, watchJob } from './watches.js';

export interface EndedJob extends JobDetail {
  /** When the end was received, by `performance.now()` of this process. */
  readonly endedAtMs: Millis;
}

/** An ended job with one entry per task in `starts` and `runs`; both are empty if the owner did not send them, as for jobs of more than 100,000 tasks. */
export interface EndedJobWithTasks extends EndedJob {
  /** Starts of the final attempts, in ms since the owner accepted the job. */
  readonly starts: readonly Millis[];
  /** Run times of the final attempts. */
  readonly runs: readonly Millis[];
}

/** A job's state at its owner and at central. */
export interface ExplainedJob extends JobExplanation {
  /** Undefined once the job has ended, and while central does not answer. */
  readonly central: CentralLine | undefined;
}

export interface RetryOptions extends CallOptions {
  /** Only these tasks. */
  readonly tasks?: TaskChoice | undefined;
  /** Only tasks of this stage; combined with `tasks`, they must belong to it. */
  readonly stage?: string | undefined;
  /** Excludes cancelled tasks, unless a failed task prevented their stage from running. Without `tasks` and `stage`. */
  readonly failed?: boolean | undefined;
  /** Runs them as a new job that keeps their indices and names this one as `retryOf`; this job stays unchanged. */
  readonly asNew?: boolean | undefined;
  /** Idempotency key: calls with the same key make one retry. */
  readonly key?: string | undefined;
}

/** A job whose tasks are retried. */
export type RetriedJob<Value = unknown> = JobHandle<Value> & {
  /** Number of retried tasks; 0 if the retry was already known. */
  readonly tasksAgain: number;
  /** Selected tasks that had completed, and are not retried. */
  readonly tasksCompleted: number;
};

export interface WaitOptions extends CallOptions {
  /** Maximum time to wait; the job continues afterwards. */
  readonly timeoutMs?: Millis | undefined;
}

/**
 * A job of the cluster, wherever it was submitted. All calls go to the scheduler that owns it; they throw InputError
 * `unknown-job` if the job does not exist, and UnreachableError if its owner does not answer.
 *
 * @typeParam Value what its tasks return, unchecked
 */
export class JobHandle<Value = unknown> {
  readonly id: string;
  /** Time when its submission was first sent, by `performance.now()`; undefined if it was not submitted here. */
  readonly sentAtMs: Millis | undefined;
  /** Its state when it was accepted: a resubmitted job may already have ended. Undefined if it was not submitted here. */
  readonly acceptedState: JobState | undefined;
  /** One line: at acceptance no worker met the job's requirements, or a lost scheduler may run the job as well. */
  readonly warning: string | undefined;
  readonly #session: Session;

  constructor(
    session: Session,
    id: string,
    accepted?: {
      readonly sentAtMs: Millis | undefined;
      readonly state: JobState;
      readonly warning: string | undefined;
    },
  ) {
    this.#session = session;
    this.id = id;
    this.sentAtMs = accepted?.sentAtMs;
    this.acceptedState = accepted?.state;
    this.warning = accepted?.warning;
  }

  /**
   * Waits for the end, successful or not: see `state`.
   *
   * @throws WaitTimeout; UnreachableError `owner-gone` if the job's scheduler stopped answering
   */
  async wait(options: WaitOptions & { readonly detail: true }): Promise<EndedJobWithTasks>;
  async wait(options?: WaitOptions & { readonly detail?: boolean }): Promise<EndedJob>;
  async wait(options: WaitOptions & { readonly detail?: boolean } = {}): Promise<EndedJob> {
    const { detail = false, timeoutMs, signal } = options;
    if (timeoutMs === undefined) return this.#untilEnd(detail, signal);
    // The alarms of a client share one timer, which NaN would stop.
    if (typeof timeoutMs !== 'number' || !(timeoutMs >= 0))
      throw new InputError('bad-timeout', `timeoutMs: expected a number of at least 0, got ${timeoutMs}`);
    signal?.throwIfAborted();
    const enough = new AbortController();
    const ignoreSignal = onAbort(signal, (reason) => enough.abort(reason));
    const alarm = this.#session.alarms.add(() => enough.abort(new WaitTimeout(this.id, timeoutMs)));
    alarm.set(performance.now() + timeoutMs);
    try {
      return await this.#untilEnd(detail, enough.signal);
    } finally {
      alarm.clear();
      ignoreSignal();
    }
  }

  async #untilEnd(detail: boolean, signal: AbortSignal | undefined): Promise<EndedJob> {
    const order = await this.#watchOrder(detail, signal);
    let stop = (): void => {};
    let ignoreSignal = (): void => {};
    const end = new Promise<EndedJob>((resolve, reject) => {
      signal?.throwIfAborted();
      stop = watchJob(this.#session, order, {
        ended: (event, at) => resolve(detail ? withTasks(event, at) : { ...event.job, endedAtMs: at }),
        failed: reject,
      });
      ignoreSignal = onAbort(signal, (reason) => {
        stop();
        reject(reason);
      });
    });
    return end.finally(() => ignoreSignal());
  }

  /**
   * Returns the tasks' values by task index; undefined if a task returned nothing (or null), as commands and sleeps do.
   *
   * @throws JobFailed or JobCancelled, with the existing values; the errors of `wait`
   */
  async result(options: WaitOptions = {}): Promise<(Value | undefined)[]> {
    const job = await this.wait(options);
    const read = readValues(this.#session, this.id, job.tasks.total, options);
    if (job.state === 'completed') return (await read) as (Value | undefined)[];
    // The failure is reported even if the values cannot be read.
    const values = await read.catch(() => []);
    options.signal?.throwIfAborted();
    throw job.state === 'failed' ? new JobFailed(job, values) : new JobCancelled(job, values);
  }

  /**
   * Returns the value or error of each task, by index, even if the job failed. Waits for the end; with `wait: false` unfinished
   * tasks are included with their states.
   *
   * @throws the errors of `wait`
   */
  async results(
    options: WaitOptions & ResultRange & { readonly wait?: boolean } = {},
  ): Promise<TaskResult<Value>[]> {
    if (options.wait !== false) await this.wait(options);
    const { results } = await readResults(this.#session, this.id, options);
    return results as TaskResult<Value>[];
  }

  /** Returns one page of results, of tasks in any state. */
  async resultsPage(options: CallOptions & ResultRange = {}): Promise<Results<Value>> {
    return (await readResults(this.#session, this.id, options)) as Results<Value>;
  }

  /**
   * Yields the value or error of each task as soon as it is available, until the job has ended, successfully or not: by index, or as
   * tasks end. A task that is retried meanwhile may appear again, with a later attempt.
   */
  async *eachResult(options: EachResultOptions = {}): AsyncGenerator<TaskResult<Value>, void, undefined> {
    checkOrder(options.order);
    const watched = await this.#watchOrder(false, options.signal);
    const news = jobEvents(this.#session, { ...watched, soon: true }, options.signal);
    yield* eachResult(this.#session, this.id, news, options) as AsyncGenerator<TaskResult<Value>>;
  }

  /**
   * Yields progress periodically, and finally the end, once. Leaving the loop stops watching. A slow reader receives only the latest
   * progress.
   */
  async *events(options: CallOptions = {}): AsyncGenerator<JobEvent, void, undefined> {
    const order = await this.#watchOrder(false, options.signal);
    yield* jobEvents(this.#session, order, options.signal);
  }

  /**
   * Appends tasks to an open job, or closes it. A repeated request has no further effect.
   *
   * @throws InputError `not-open` for a closed job, `append-conflict` if it has other tasks at these indices
   */
  append(tasks: Appending, options: CallOptions = {}): Promise<Appended> {
    return appendTasks(this.#session, this.id, tasks, options);
  }

  /** @param options `spec`: includes the submitted job */
  async describe(options: CallOptions & { readonly spec?: boolean } = {}): Promise<JobDetail> {
    const { spec = false } = options;
    const answer = await this.#ask(
      {
        what: 'to describe a job',
        build: (request) => ({ type: 'describeJob', request, id: this.id, spec }),
      },
      options,
    );
    return answer.value;
  }

  /**
   * Explains why the job waits, where its probes and needs are and what is ahead of them, and where its time went.
   *
   * @param options `task`: index of a task to explain in detail
   * @throws InputError `unknown-task`
   */
  async explain(options: CallOptions & { readonly task?: number } = {}): Promise<ExplainedJob> {
    const { task } = options;
    const answer = await this.#ask(
      {
        what: 'why a job waits',
        build: (request) => ({ type: 'explainJob', request, id: this.id, task }),
      },
      options,
    );
    const explanation = answer.value;
    if (isFinal(explanation.job.state)) return { ...explanation, central: undefined };
    return withCentral(explanation, await lineOf(this.#session, explanation, options));
  }

  /** Cancels unfinished tasks. Running ones are killed, and the job ends after them. */
  async cancel(options: CallOptions = {}): Promise<JobSummary> {
    const answer = await this.#ask(
      { what: 'to cancel a job', build: (request) => ({ type: 'cancelJob', request, id: this.id }) },
      options,
    );
    return answer.value;
  }

  /**
   * Cancels individual tasks by index; the job continues with the others, and ends as cancelled. Later stages can no longer run.
   *
   * @param tasks undefined: all, or all of the stage
   * @throws InputError `bad-tasks`, `unknown-task`, `unknown-stage`
   */
  async cancelTasks(
    tasks: TaskChoice | undefined,
    options: CancelTasksOptions = {},
  ): Promise<CancelledTasks> {
    const ranges = tasks === undefined ? [] : rangesOf(tasks);
    const { stage } = options;
    const answer = await this.#ask(
      {
        what: 'to cancel tasks',
        build: (request) => ({ type: 'cancelTasks', request, id: this.id, tasks: ranges, stage }),
      },
      options,
    );
    return answer.value;
  }

  /** Starts no more tasks of the job until it is released; running ones continue. @throws InputError `has-ended` */
  hold(options: CallOptions = {}): Promise<JobSummary> {
    return this.#update('to hold a job', { held: true }, options);
  }

  /** Releases a job on hold, and starts a job with a later begin time immediately. @throws InputError `has-ended` */
  release(options: CallOptions = {}): Promise<JobSummary> {
    return this.#update('to release a job', { held: false }, options);
  }

  /** Changes an unfinished job. @throws InputError `has-ended` */
  update(change: { readonly priority: Priority }, options: CallOptions = {}): Promise<JobSummary> {
    const { priority } = change;
    if (!PRIORITIES.includes(priority))
      throw new InputError('bad-priority', `priority: expected one of ${PRIORITIES.join(', ')}`);
    return this.#update('to update a job', { priority }, options);
  }

  async #update(
    what: string,
    { held, priority }: { readonly held?: boolean; readonly priority?: Priority },
    options: CallOptions,
  ): Promise<JobSummary> {
    const { id } = this;
    const answer = await this.#ask(
      { what, build: (request) => ({ type: 'updateJob', request, id, held, priority }) },
      options,
    );
    return answer.value;
  }

  /**
   * Retries tasks of an ended job, as further attempts within the job, or with `asNew` as a new job. Without `tasks`, all that
   * failed or were cancelled; with `failed`, only those that failed and the stages that could not run because of them.
   *
   * @throws InputError `not-ended` while the job continues, `nothing-failed` if all selected tasks completed, `unknown-task`,
   * `unknown-stage`, `stage-not-completed` if a selected task depends on a stage that has failed, and `missing-inputs` if a new job
   * would need return values of this one
   */
  async retry(options: RetryOptions = {}): Promise<RetriedJob<Value>> {
    const { key = randomName(), tasks, stage, failed, asNew, signal } = options;
    checkKey(key);
    // The scheduler retries selected tasks even if they were cancelled.
    if (failed && (tasks !== undefined || stage !== undefined))
      throw new InputError(
        'usage',
        'retry: selected tasks cannot be combined with --failed (failed)',
        'use one of them',
      );
    const ranges = await this.selectTasks(tasks, { stage, signal });
    let sentAtMs: Millis | undefined;
    const answer = await this.#ask(
      {
        what: 'to retry a job',
        build: (request) => {
          sentAtMs ??= performance.now();
          return { type: 'retryJob', request, key, id: this.id, failedOnly: failed, tasks: ranges, asNew };
        },
      },
      options,
    );
    const { job, state, warning, again = 0, completed = 0 } = answer.value;
    const handle = new JobHandle<Value>(this.#session, job, { sentAtMs, state, warning });
    return Object.assign(handle, { tasksAgain: again, tasksCompleted: completed });
  }

  /**
   * Yields the tasks by index, with state and last attempt. Each page of up to 2,000 is a consistent snapshot.
   *
   * @throws InputError `unknown-stage`
   */
  async *tasks(options: TasksOptions = {}): AsyncGenerator<TaskRow, void, undefined> {
    for await (const { tasks } of taskPages(this.#session, this.id, options)) yield* tasks;
  }

  /** Returns one page of tasks. @param options `limit`: maximum number, at most 2,000 */
  tasksPage(options: TasksOptions & { readonly limit?: number | undefined } = {}): Promise<Tasks> {
    return readTasks(this.#session, this.id, options);
  }

  /**
   * Returns the indices of some tasks: those of a stage, or the given ones, which must then belong to the stage.
   *
   * @returns undefined for all tasks
   * @throws InputError `bad-tasks`, `unknown-stage`, `unknown-task`
   */
  async selectTasks(
    tasks: TaskChoice | undefined,
    { stage, signal }: CallOptions & { readonly stage?: string | undefined } = {},
  ): Promise<readonly TaskRange[] | undefined> {
    const ranges = tasks === undefined ? undefined : rangesOf(tasks);
    return stage === undefined
      ? ranges
      : tasksOfStage(this.#session, this.id, { stage, tasks: ranges, signal });
  }

  /** Yields output of all tasks and both streams, in order of arrival at the owner. @throws InputError `bad-attempt` */
  logs(options: LogOptions = {}): AsyncGenerator<LogChunk, void, undefined> {
    return jobLogs(this.#session, this.id, options);
  }

  /** Returns the output of the last attempt of one task so far. @throws InputError `unknown-task` */
  output(task: number, options: CallOptions = {}): Promise<TaskOutput> {
    return taskOutput(this.#session, this.id, task, options);
  }

  async #watchOrder(detail: boolean, signal: AbortSignal | undefined): Promise<WatchOrder> {
    const { id } = this;
    const { roster } = this.#session;
    signal?.throwIfAborted();
    const owner = await roster.findOwner(id, signal);
    return {
      id,
      detail,
      isLost: roster.isLost(owner),
      to: () => roster.ownerOf(id) ?? owner,
      ...roster.upkeep,
    };
  }

  #ask<Q extends Question>(order: Ask<Q>, options: CallOptions): Promise<Answer<Q>> {
    return askOwner(this.#session, this.id, order, options);
  }
}

function withTasks({ job, starts = [], runs = [] }: EndedEvent, endedAtMs: Millis): EndedJobWithTasks {
  return { ...job, endedAtMs, starts, runs };
}
