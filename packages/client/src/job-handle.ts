import {
  type CentralLine,
  GoshawkError,
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
  type TaskResult,
  type TaskRow,
} from '@goshawk/core';
import { randomName } from '@goshawk/transport';
import { onAbort } from './abort.js';
import { type CancelledTasks, type CancelTasksOptions, rangesOf, type TaskChoice } from './cancelling.js';
import { JobCancelled, JobFailed, WaitTimeout } from './errors.js';
import { lineOf } from './explanations.js';
import { jobEvents } from './job-events.js';
import { jobLogs, type LogChunk, type LogOptions, type TaskOutput, taskOutput } from './job-logs.js';
import { eachResult, type ResultOrder, type ResultRange, readResults, readValues } from './job-results.js';
import { readTasks, type Tasks, type TasksOptions, taskPages } from './job-tasks.js';
import type { CallOptions } from './options.js';
import type { Answer } from './requests.js';
import { type Ask, askOwner, type Session } from './session.js';
import { checkKey } from './submission.js';
import { type EndedEvent, type WatchOrder, watchJob } from './watches.js';

export interface EndedJob extends JobDetail {
  /** When the news of the end arrived here, by `performance.now()` of this process. */
  readonly endedAtMs: Millis;
}

/** Has columns by task, empty if the owner did not send them, as for jobs of more than 100,000 tasks. */
export interface EndedJobWithTasks extends EndedJob {
  /** When the attempt that counted started, in ms since the owner accepted the job. */
  readonly starts: readonly Millis[];
  /** For how long it ran. */
  readonly runs: readonly Millis[];
}

/** A job's state at its owner and at central. */
export interface ExplainedJob extends JobExplanation {
  /** Undefined once the job has ended, and while central does not answer. */
  readonly central: CentralLine | undefined;
}

export interface RetryOptions extends CallOptions {
  /** Only these. */
  readonly tasks?: TaskChoice | undefined;
  /** Leaves out tasks that were cancelled, unless a failed task kept their stage from running. */
  readonly failed?: boolean | undefined;
  /** Runs them as a new job that keeps their numbers and names this one as `retryOf`; this job stays as it is. */
  readonly asNew?: boolean | undefined;
  /** The same key again is the same retry. */
  readonly key?: string | undefined;
}

/** A job of which tasks run again. */
export type RetriedJob<Value = unknown> = JobHandle<Value> & {
  /** So many; 0 where the retry was known already. */
  readonly tasksAgain: number;
  /** Chosen tasks that had completed, and do not run again. */
  readonly tasksCompleted: number;
};

export interface WaitOptions extends CallOptions {
  /** Gives up after so long; the job continues. */
  readonly timeoutMs?: Millis | undefined;
}

/**
 * A job of the cluster, wherever it was submitted. All calls ask the scheduler that owns it; they throw
 * InputError `unknown-job` when there is no such job, and UnreachableError when its owner does not answer.
 *
 * @typeParam Value what its tasks return; nobody checks that they do
 */
export class JobHandle<Value = unknown> {
  readonly id: string;
  /** When its submission was sent first, by `performance.now()`; undefined when it was not submitted here. */
  readonly sentAtMs: Millis | undefined;
  /** Its state when it was accepted: a job that was here before may have ended. Undefined when it was not submitted here. */
  readonly acceptedState: JobState | undefined;
  /** A likely mistake at acceptance, in one line: no worker had what the job requires. */
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
   * Waits for the end, whatever it is: see `state`.
   *
   * @throws WaitTimeout; UnreachableError `owner-gone` when the job's scheduler has fallen silent
   */
  async wait(options: WaitOptions & { readonly detail: true }): Promise<EndedJobWithTasks>;
  async wait(options?: WaitOptions & { readonly detail?: boolean }): Promise<EndedJob>;
  async wait(options: WaitOptions & { readonly detail?: boolean } = {}): Promise<EndedJob> {
    const { detail = false, timeoutMs, signal } = options;
    if (timeoutMs === undefined) return this.#untilEnd(detail, signal);
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
   * The values that the tasks returned, by task; undefined where a task returned nothing (or null), as
   * commands and sleeps do.
   *
   * @throws JobFailed or JobCancelled, with the values that there are; what `wait` throws
   */
  async result(options: WaitOptions = {}): Promise<(Value | undefined)[]> {
    const job = await this.wait(options);
    const read = readValues(this.#session, this.id, job.tasks.total, options);
    if (job.state === 'completed') return (await read) as (Value | undefined)[];
    // That it failed is known, whether its values can be read or not.
    const values = await read.catch(() => []);
    options.signal?.throwIfAborted();
    throw job.state === 'failed' ? new JobFailed(job, values) : new JobCancelled(job, values);
  }

  /**
   * A value or an error of every task, by index, however the job ended. Waits for the end; with `wait: false` tasks that have
   * not ended are there with their states.
   *
   * @throws what `wait` throws
   */
  async results(
    options: WaitOptions & ResultRange & { readonly wait?: boolean } = {},
  ): Promise<TaskResult<Value>[]> {
    if (options.wait !== false) await this.wait(options);
    return (await readResults(this.#session, this.id, options)) as TaskResult<Value>[];
  }

  /**
   * A value or an error of each task as soon as there is one, until the job has ended, however it ends: by index, or as tasks
   * end. A task that is retried meanwhile may come again, with a later attempt.
   */
  async *eachResult(
    options: CallOptions & { readonly order?: ResultOrder } = {},
  ): AsyncGenerator<TaskResult<Value>, void, undefined> {
    const { order = 'index' } = options;
    const watched = await this.#watchOrder(false, options.signal);
    const news = jobEvents(this.#session, { ...watched, soon: true }, options.signal);
    yield* eachResult(this.#session, this.id, order, news, options) as AsyncGenerator<TaskResult<Value>>;
  }

  /**
   * Progress now and then, and the end, once and last. Leaving the loop stops watching. A reader that is
   * slower than the news gets the latest of it.
   */
  async *events(options: CallOptions = {}): AsyncGenerator<JobEvent, void, undefined> {
    const order = await this.#watchOrder(false, options.signal);
    yield* jobEvents(this.#session, order, options.signal);
  }

  /** @param options `spec`: with the job as it was submitted */
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
   * Why the job waits, where its probes and needs are and what stands before them, and where its time went.
   *
   * @param options `task`: explained in particular
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
    return { ...explanation, central: await lineOf(this.#session, explanation, options) };
  }

  /** Cancels what has not ended. Tasks that run are killed, and the job ends when they have. */
  async cancel(options: CallOptions = {}): Promise<JobSummary> {
    const answer = await this.#ask(
      { what: 'to cancel a job', build: (request) => ({ type: 'cancelJob', request, id: this.id }) },
      options,
    );
    return answer.value;
  }

  /**
   * Cancels single tasks, by their numbers in the job; the job continues with the others, and ends as cancelled. Stages after
   * theirs cannot run any more.
   *
   * @param tasks all of them, or of the stage, where they are undefined
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

  /** Starts nothing more of the job until it is released; tasks that run go on. @throws InputError `has-ended` */
  hold(options: CallOptions = {}): Promise<JobSummary> {
    return this.#update('to hold a job', { held: true }, options);
  }

  /** Lets a held job start again, and one that was to begin later start now. @throws InputError `has-ended` */
  release(options: CallOptions = {}): Promise<JobSummary> {
    return this.#update('to release a job', { held: false }, options);
  }

  /** Changes the job for as long as it has not ended. @throws InputError `has-ended` */
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
   * Runs tasks of an ended job again: the same tasks of the same job, as further attempts. Without `tasks` these are all
   * that failed or were cancelled; with `failed`, only those that failed and the stages that could not run because of them.
   *
   * @throws InputError `not-ended` while the job continues, `nothing-failed` when all chosen tasks completed, `unknown-task`,
   *   `stage-not-completed` where a chosen task runs after a stage that has failed, and `missing-inputs` where a new job
   *   would need return values of this one
   */
  async retry(options: RetryOptions = {}): Promise<RetriedJob<Value>> {
    const { key = randomName(), tasks, failed, asNew } = options;
    checkKey(key);
    const ranges = tasks === undefined ? undefined : rangesOf(tasks);
    let sentAtMs: Millis | undefined;
    const answer = await this.#ask(
      {
        what: 'to retry a job',
        build: (request) => {
          sentAtMs ??= performance.now();
          const chosen = { failedOnly: failed, tasks: ranges, asNew };
          return { type: 'retryJob', request, key, id: this.id, ...chosen };
        },
      },
      options,
    );
    const { job, state, warning, again = 0, completed = 0 } = answer.value;
    if (asNew === true && job === this.id)
      throw new GoshawkError(
        'other-version',
        `the scheduler of ${job} is of an older version, and runs the tasks again as the same job`,
        'upgrade the schedulers',
      );
    const handle = new JobHandle<Value>(this.#session, job, { sentAtMs, state, warning });
    return Object.assign(handle, { tasksAgain: again, tasksCompleted: completed });
  }

  /**
   * The tasks one by one, by index: where each is, and what became of its last attempt. Each is as it was when its page
   * of up to 2,000 was read.
   *
   * @throws InputError `unknown-stage`
   */
  async *tasks(options: TasksOptions = {}): AsyncGenerator<TaskRow, void, undefined> {
    for await (const { tasks } of taskPages(this.#session, this.id, options)) yield* tasks;
  }

  /** One page of them. @param options `limit`: at most so many, and never more than 2,000 */
  tasksPage(options: TasksOptions & { readonly limit?: number | undefined } = {}): Promise<Tasks> {
    return readTasks(this.#session, this.id, options);
  }

  /** Output of all tasks, streams and attempts, in order of arrival at the owner. */
  logs(options: LogOptions = {}): AsyncGenerator<LogChunk, void, undefined> {
    return jobLogs(this.#session, this.id, options);
  }

  /** All that the last attempt of one task has printed so far. @throws InputError `unknown-task` */
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
      to: () => roster.ownerOf(id) ?? owner,
      onSilence: () => roster.refreshSoon(),
    };
  }

  #ask<Q extends Question>(order: Ask<Q>, options: CallOptions): Promise<Answer<Q>> {
    return askOwner(this.#session, this.id, order, options);
  }
}

function withTasks({ job, starts = [], runs = [] }: EndedEvent, endedAtMs: Millis): EndedJobWithTasks {
  return { ...job, endedAtMs, starts, runs };
}
