import {
  type Address,
  CONTAINER,
  DOCKER,
  InputError,
  LIMITS,
  type MessageOf,
  type Millis,
  parseTasks,
} from '@goshawk/core';
import type { Routing } from '../dispatch/routing.js';
import { NOT_READY, type Refusal } from '../durability/ledger.js';
import { heapBytes } from '../job/heap-bytes.js';
import type { Job } from '../job/job.js';
import { TASK_BYTES } from '../job/job-bytes.js';
import { setOpenTimer } from '../job/job-timers.js';
import type { SchedulerState } from '../state.js';
import type { Endings } from './endings.js';
import type { Overload } from './overload.js';
import { RefusedRequests } from './refused-requests.js';

/** Appends tasks to open jobs, and closes them. */
export class Appending {
  readonly #s: SchedulerState;
  readonly #routing: Routing;
  readonly #endings: Endings;
  readonly #overload: Overload;
  readonly #refused = new RefusedRequests();

  constructor(s: SchedulerState, routing: Routing, endings: Endings, overload: Overload) {
    this.#s = s;
    this.#routing = routing;
    this.#endings = endings;
    this.#overload = overload;
  }

  /** Appends tasks to an open job, or closes it. A repeated request has no further effect. */
  append(from: Address, message: MessageOf<'appendTasks'>, job: Job, now: Millis): void {
    const { request, first } = message;
    const copy = { request, key: `${job.id} ${first}` };
    const refusal = this.#refused.of(from, copy) ?? this.#tryAppend(message, job, now);
    if (refusal === undefined)
      return this.#s.answers.answerWhenDurable(from, request, 'appended', appendedAnswer(job));
    if (refusal.cause !== undefined) this.#s.tallies.jobsRefused[refusal.cause]++;
    this.#refused.add(from, copy, refusal);
    this.#s.answers.refuse(from, request, refusal);
  }

  #tryAppend(message: MessageOf<'appendTasks'>, job: Job, now: Millis): Refusal | undefined {
    const { first, common, each, digest, close, taken } = message;
    // Appended tasks may start immediately, which requires a policy.
    if (!this.#s.cluster.isReady) return NOT_READY;
    if (job.spec.openMs === undefined)
      return notOpen(`${job.id} accepts no further tasks: it was submitted without "open"`);
    if (!Array.isArray(each)) return { code: 'bad-job', message: 'tasks: expected a list', hint: '' };
    const isRepeated = first + each.length <= job.taskCount;
    if (
      isRepeated &&
      each.length > 0 &&
      first + each.length === job.taskCount &&
      digest !== job.client.digest
    )
      return conflict(job, first);
    const changesJob = !isRepeated || (close && job.isOpen);
    if (!changesJob || job.hasEnded || job.cancelling || !job.isOpen) {
      if (!isRepeated)
        return { ...notOpen(`${job.id} is closed and accepts no further tasks`), isRevocable: true };
      this.#clientIsActive(job, taken, now);
      return undefined;
    }
    if (!isRepeated && first !== job.taskCount) return conflict(job, first);
    const refusal = this.#s.ledger.refusal ?? this.#overload.refusalOfTasks(job.spec.user, each.length);
    if (refusal !== undefined) return refusal;
    const bytes = isRepeated ? 0 : heapBytes(common) * each.length + heapBytes(each);
    if (bytes > LIMITS.appendedBytesMax) return tooLarge(bytes);
    let tasks: ReturnType<typeof parseTasks>;
    try {
      tasks = isRepeated ? [] : parseTasks(common, each, LIMITS.tasksPerJobMax - job.taskCount);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      return { code: error.code, message: error.message, hint: error.hint };
    }
    if (job.stages[0]!.spec.requires?.[CONTAINER] === undefined) {
      const image = tasks.findIndex((task) => 'exec' in task && task.image !== undefined);
      if (image >= 0) return engineNotRequired(image);
    }
    const overLimit = this.#s.quotas.refusalOfTasks(job.spec.user, tasks.length, bytes);
    if (tasks.length > 0 && overLimit !== undefined) return overLimit;
    // A request that only closes the job takes no memory, so it is never refused for lack of memory.
    const tooMuch =
      tasks.length === 0
        ? undefined
        : this.#overload.refusalOfBytes(job.spec.user, bytes + tasks.length * TASK_BYTES);
    if (tooMuch !== undefined) return tooMuch;
    this.#s.ledger.appended(job, { first: job.taskCount, tasks, digest, close }, bytes, now);
    job.append(tasks);
    if (tasks.length > 0) job.client.digest = digest;
    job.client.isOpen = !close;
    this.#clientIsActive(job, taken, now);
    const count = job.taskCount;
    this.#s.ledger.whenDurable((then) => {
      if (this.#s.jobs.byNumber(job.number) !== job || job.hasEnded) return;
      const written = job.markDurable(count);
      if (written > 0) this.#routing.tasksAppended(job, written, then);
    }, now);
    this.#endings.endIfDone(job, now);
    return undefined;
  }

  #clientIsActive(job: Job, taken: number, now: Millis): void {
    job.client.activeAt = now;
    if (job.isOpen && !job.hasEnded) setOpenTimer(job, this.#s.env);
    job.history.reports.dropValues(Math.min(taken, job.taskCount));
    if (!job.hasEnded) this.#s.jobs.updateBytes(job);
  }
}

type Appended = MessageOf<'appended'>['value'];

function appendedAnswer({ taskCount: tasks, client, state }: Job): Appended {
  return { tasks, digest: client.digest, closed: !client.isOpen, state };
}

/** Refuses a container task, because an open job cannot change the requirements of its submission. */
function engineNotRequired(task: number): Refusal {
  return {
    code: 'bad-job',
    message: `tasks[${task}]: an image needs workers with a container engine, which the open job does not require`,
    hint: `submit the job with "require": {"${CONTAINER}": "${DOCKER}"}`,
  };
}

/** Refuses tasks before they are read: a few kilobytes of common fields, repeated by 10,000 tasks, are gigabytes. */
function tooLarge(bytes: number): Refusal {
  const message = `these tasks take ${bytes} bytes of memory, with their common fields in each; ${LIMITS.appendedBytesMax} is the most for one request`;
  return { code: 'bad-job', message, hint: 'append fewer tasks at once, or pass large values in a file' };
}

function notOpen(message: string): Refusal {
  return { code: 'not-open', message, hint: 'submit another job' };
}

function conflict({ id, taskCount }: Job, first: number): Refusal {
  const message = `${id} has ${taskCount} tasks, which differ from those to be appended at ${first}`;
  return { code: 'append-conflict', message, hint: 'is another client appending to it?', isRevocable: true };
}
