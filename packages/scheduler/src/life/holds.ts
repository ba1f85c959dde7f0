import { type Address, type MessageOf, type Millis, type Priority, setLatest } from '@goshawk/core';
import { jobReleased, priorityChanged, withdrawSearch } from '../dispatch/routing.js';
import { NOT_READY, type Refusal } from '../durability/ledger.js';
import { Hold } from '../job/hold.js';
import type { Job } from '../job/job.js';
import { TaskState } from '../job/task-state.js';
import type { SchedulerState } from '../state/state.js';
import { abandonIfLate } from './endings.js';
import { killAttempt } from './killing.js';

/** Begin times are checked at least this often, in milliseconds, because wall clocks may be set. */
const CHECK_INTERVAL_MS = 30_000;

/** Interval of these checks before the scheduler has joined its cluster, in milliseconds. */
const NOT_READY_INTERVAL_MS = 1_000;

/** Maximum number of requests that are remembered: far more than have copies in flight. */
const UPDATES_MAX = 10_000;

// Applies changes that users make to their jobs: hold, begin time and priority.

/** Adds a job that was accepted or loaded. Ignores jobs without a begin time. */
export function addBeginTime(s: SchedulerState, job: Job, now: Millis): void {
  const beginAt = job.hold?.beginAt;
  if (beginAt === undefined) return;
  s.beginTimes.jobs.add(job);
  // Looking at all jobs here would make loading a journal quadratic.
  setBeginTimerAt(s, Math.min(now + CHECK_INTERVAL_MS, beginAt - s.config.wallOffsetMs));
}

/** Applies a request. @returns why it is refused */
export function updateJob(
  s: SchedulerState,
  from: Address,
  { request, held, priority }: MessageOf<'updateJob'>,
  job: Job,
  now: Millis,
): Refusal | undefined {
  // A copy may arrive after a later request was answered, or after the job has ended. A lower number proves no copy: frames get lost.
  const copy = `${from} ${request}`;
  if (s.applied.has(copy)) return undefined;
  if (job.hasEnded || job.cancelling) {
    const how = job.hasEnded ? `has ended (${job.state})` : 'is being cancelled';
    const message = `${job.id} ${how}`;
    return { code: 'has-ended', message, hint: 'none of its tasks wait', isRevocable: true };
  }
  // Released or reordered tasks may start immediately, which requires a policy.
  if (held !== true && !s.cluster.isReady) return NOT_READY;
  setLatest(s.applied, copy, true, UPDATES_MAX);
  if (held === true) holdJob(s, job, now);
  if (priority !== undefined) setPriority(s, job, priority, now);
  if (held === false) releaseJob(s, job, now);
  return undefined;
}

/** Releases the jobs whose begin time has passed. */
export function releaseBegun(s: SchedulerState, now: Millis): void {
  // No job can start before the policy is known.
  if (!s.cluster.isReady) return s.env.setTimer('begin', 0, now + NOT_READY_INTERVAL_MS);
  s.beginTimes.timerAt = Number.POSITIVE_INFINITY;
  const wallNow = now + s.config.wallOffsetMs;
  for (const job of s.beginTimes.jobs) {
    const { hold } = job;
    const isOver = job.hasEnded || job.cancelling || s.jobs.byNumber(job.number) !== job;
    if (isOver || hold?.beginAt === undefined) s.beginTimes.jobs.delete(job);
    else if (hold.beginAt <= wallNow) {
      s.beginTimes.jobs.delete(job);
      if (hold.update(hold.isHeld, undefined, now)) startReleased(s, job, now);
      else s.events.changed(job, now);
    }
  }
  setBeginTimer(s, now);
}

function setBeginTimer(s: SchedulerState, now: Millis): void {
  const wallOffsetMs = s.config.wallOffsetMs;
  let at = now + CHECK_INTERVAL_MS;
  for (const { hold } of s.beginTimes.jobs) at = Math.min(at, (hold?.beginAt ?? at) - wallOffsetMs);
  if (s.beginTimes.jobs.size > 0) setBeginTimerAt(s, at);
}

function setBeginTimerAt(s: SchedulerState, at: Millis): void {
  if (at >= s.beginTimes.timerAt) return;
  s.beginTimes.timerAt = at;
  s.env.setTimer('begin', 0, at);
}

function holdJob(s: SchedulerState, job: Job, now: Millis): void {
  if (job.hold?.isHeld === true) return;
  const wasHeld = job.isHeld;
  if (job.hold === undefined) job.hold = new Hold(true, undefined, now);
  else job.hold.update(true, job.hold.beginAt, now);
  s.jobs.held(job);
  s.ledger.updated(job, now);
  if (!wasHeld) withdrawTasks(s, job, now);
  s.events.changed(job, now);
}

/** Stops the search for workers, and withdraws tasks from the queues of workers. */
function withdrawTasks(s: SchedulerState, job: Job, now: Millis): void {
  withdrawSearch(s, job);
  for (const task of [...job.tasks.inStates(TaskState.placed)]) {
    killAttempt(s, job.tasks.workerOf(task), job.tasks.ref(task));
    s.ledger.declined(job, task, now);
    job.requeue(task);
  }
}

function releaseJob(s: SchedulerState, job: Job, now: Millis): void {
  const { hold } = job;
  if (hold === undefined || !hold.isOn) return;
  hold.update(false, undefined, now);
  s.ledger.updated(job, now);
  startReleased(s, job, now);
}

function startReleased(s: SchedulerState, job: Job, now: Millis): void {
  job.released(now);
  jobReleased(s, job, now);
  abandonIfLate(s, job, now);
  s.events.changed(job, now);
}

function setPriority(s: SchedulerState, job: Job, priority: Priority, now: Millis): void {
  if (job.priority === priority) return;
  job.priority = priority;
  s.ledger.updated(job, now);
  priorityChanged(s, job, now);
  s.events.changed(job, now);
}
