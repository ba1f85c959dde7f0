import { type Address, InputError, LIMITS, type MessageOf, type Millis, parseTasks } from '@goshawk/core';
import { NOT_READY, type Refusal } from '../durability/ledger.js';
import { heapBytes } from '../job/heap-bytes.js';
import type { Job } from '../job/job.js';
import { TASK_BYTES } from '../job/job-bytes.js';
import { watchOpen } from '../job/job-timers.js';
import type { SchedulerParts } from '../parts.js';

type Appended = MessageOf<'appended'>['value'];

/** Appends tasks to an open job, or closes it; the same tasks a second time are those that the job has. */
export function append(
  s: SchedulerParts,
  from: Address,
  message: MessageOf<'appendTasks'>,
  job: Job,
  now: Millis,
): void {
  const refusal = appended(s, message, job, now);
  const { request } = message;
  if (refusal === undefined) return s.answers.acknowledge(from, request, 'appended', standingOf(job));
  if (refusal.cause !== undefined) s.tallies.jobsRefused[refusal.cause]++;
  s.answers.refuse(from, request, refusal);
}

function standingOf({ taskCount: tasks, digest, isOpen, state }: Job): Appended {
  return { tasks, digest, closed: !isOpen, state };
}

function appended(
  s: SchedulerParts,
  message: MessageOf<'appendTasks'>,
  job: Job,
  now: Millis,
): Refusal | undefined {
  const { first, common, each, digest, close, taken } = message;
  // Appended tasks are started, for which the policy must be known.
  if (!s.cluster.isReady) return NOT_READY;
  if (job.spec.openMs === undefined)
    return notOpen(`${job.id} accepts no further tasks: it was submitted without "open"`);
  if (!Array.isArray(each)) return { code: 'bad-job', message: 'tasks: expected a list', hint: '' };
  const has = first + each.length <= job.taskCount;
  if (has && each.length > 0 && first + each.length === job.taskCount && digest !== job.digest)
    return conflict(job, first);
  const isNews = !has || (close && job.isOpen);
  if (!isNews || job.hasEnded || job.cancelling || !job.isOpen) {
    if (!has) return notOpen(`${job.id} is closed and accepts no further tasks`);
    heard(s, job, taken, now);
    return undefined;
  }
  if (!has && first !== job.taskCount) return conflict(job, first);
  const refusal = s.ledger.refusal ?? s.overload.refusalOfTasks(job.spec.user, each.length);
  if (refusal !== undefined) return refusal;
  let tasks: ReturnType<typeof parseTasks>;
  try {
    tasks = has ? [] : parseTasks(common, each, LIMITS.tasksPerJobMax - job.taskCount);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return { code: error.code, message: error.message, hint: error.hint };
  }
  const bytes = heapBytes(tasks);
  const overLimit = s.quotas.refusalOfTasks(job.spec.user, tasks.length, bytes);
  if (tasks.length > 0 && overLimit !== undefined) return overLimit;
  // A bare close takes no memory, so it is never refused for it, nor counted as refused.
  const tooMuch =
    tasks.length === 0
      ? undefined
      : s.overload.refusalOfBytes(job.spec.user, bytes + tasks.length * TASK_BYTES);
  if (tooMuch !== undefined) return tooMuch;
  s.ledger.appended(job, { first: job.taskCount, tasks, digest, close }, bytes, now);
  job.append(tasks);
  if (tasks.length > 0) job.digest = digest;
  job.isOpen = !close;
  heard(s, job, taken, now);
  const count = job.taskCount;
  s.ledger.whenDurable((then) => {
    if (s.jobs.byNumber(job.number) !== job || job.hasEnded) return;
    const written = job.appendedAreWritten(count);
    if (written > 0) s.routing.appended(job, written, then);
  }, now);
  s.endings.endIfDone(job, now);
  return undefined;
}

function heard(s: SchedulerParts, job: Job, taken: number, now: Millis): void {
  job.heardAt = now;
  if (job.isOpen && !job.hasEnded) watchOpen(job, s.env);
  job.history.reports.drop(Math.min(taken, job.taskCount));
  if (!job.hasEnded) s.jobs.weigh(job);
}

function notOpen(message: string): Refusal {
  return { code: 'not-open', message, hint: 'submit another job' };
}

function conflict({ id, taskCount }: Job, first: number): Refusal {
  const message = `${id} has ${taskCount} tasks, which differ from those to be appended at ${first}`;
  return { code: 'append-conflict', message, hint: 'is another client appending to it?' };
}
