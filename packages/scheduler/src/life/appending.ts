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
import { tasksAppended } from '../dispatch/routing.js';
import { answerWhenDurable, refuse } from '../durability/answers.js';
import { NOT_READY, type Refusal } from '../durability/ledger.js';
import { heapBytes } from '../job/heap-bytes.js';
import type { Job } from '../job/job.js';
import { TASK_BYTES } from '../job/job-bytes.js';
import { setOpenTimer } from '../job/job-timers.js';
import type { SchedulerState } from '../state/state.js';
import { endIfDone } from './endings.js';

// Appends tasks to open jobs, and closes them.

/** Appends tasks to an open job, or closes it. A repeated request has no further effect. */
export function appendTasks(
  s: SchedulerState,
  from: Address,
  message: MessageOf<'appendTasks'>,
  job: Job,
  now: Millis,
): void {
  const { request, first } = message;
  const copy = { request, key: `${job.id} ${first}` };
  const refusal = s.refused.of(from, copy) ?? tryAppend(s, message, job, now);
  if (refusal === undefined) return answerWhenDurable(s, from, request, 'appended', appendedAnswer(job));
  if (refusal.cause !== undefined) s.tallies.jobsRefused[refusal.cause]++;
  s.refused.add(from, copy, refusal);
  refuse(s, from, request, refusal);
}

function tryAppend(
  s: SchedulerState,
  message: MessageOf<'appendTasks'>,
  job: Job,
  now: Millis,
): Refusal | undefined {
  const { first, common, each, digest, close, taken } = message;
  // Appended tasks may start immediately, which requires a policy.
  if (!s.cluster.isReady) return NOT_READY;
  if (job.spec.openMs === undefined)
    return notOpen(`${job.id} accepts no further tasks: it was submitted without "open"`);
  if (!Array.isArray(each)) return { code: 'bad-job', message: 'tasks: expected a list', hint: '' };
  const isRepeated = first + each.length <= job.taskCount;
  if (isRepeated && each.length > 0 && first + each.length === job.taskCount && digest !== job.client.digest)
    return conflict(job, first);
  const changesJob = !isRepeated || (close && job.isOpen);
  if (!changesJob || job.hasEnded || job.cancelling || !job.isOpen) {
    if (!isRepeated)
      return { ...notOpen(`${job.id} is closed and accepts no further tasks`), isRevocable: true };
    clientIsActive(s, job, taken, now);
    return undefined;
  }
  if (!isRepeated && first !== job.taskCount) return conflict(job, first);
  const { user } = job.spec;
  const parent = job.parent?.job;
  const refusal = s.ledger.refusal ?? s.overload.refusalOfTasks(user, each.length, parent);
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
  const overLimit = s.quotas.refusalOfTasks(user, tasks.length, bytes, parent, now);
  if (tasks.length > 0 && overLimit !== undefined) return overLimit;
  // A request that only closes the job takes no memory, so it is never refused for lack of memory.
  const tooMuch =
    tasks.length === 0
      ? undefined
      : s.overload.refusalOfBytes(user, bytes + tasks.length * TASK_BYTES, parent);
  if (tooMuch !== undefined) return tooMuch;
  s.ledger.appended(job, { first: job.taskCount, tasks, digest, close }, bytes, now);
  job.append(tasks);
  if (tasks.length > 0) job.client.digest = digest;
  job.client.isOpen = !close;
  job.times.progressed(now);
  clientIsActive(s, job, taken, now);
  const count = job.taskCount;
  s.ledger.whenDurable((then) => {
    if (s.jobs.byNumber(job.number) !== job || job.hasEnded) return;
    const written = job.markDurable(count);
    if (written > 0) tasksAppended(s, job, written, then);
  }, now);
  endIfDone(s, job, now);
  return undefined;
}

function clientIsActive(s: SchedulerState, job: Job, taken: number, now: Millis): void {
  job.client.activeAt = now;
  if (job.isOpen && !job.hasEnded) setOpenTimer(job, s.env);
  job.history.reports.dropValues(Math.min(taken, job.taskCount));
  if (!job.hasEnded) s.jobs.updateBytes(job);
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
