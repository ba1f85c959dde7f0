import {
  type Millis,
  type TaskIndex,
  WAIT_PHASES,
  type WaitPhase,
  type WaitSpread,
  type WaitSum,
} from '@goshawk/core';
import type { Job } from '../job/job.js';
import { TaskState } from '../job/task-state.js';
import { spreadOf } from './job-views.js';

/** Returns the length of the interval without the time during which the job was on hold. */
function waitedMs({ hold }: Job, from: Millis, to: Millis): Millis {
  return Math.max(0, to - from - (hold?.heldMsBetween(from, to) ?? 0));
}

/** Distribution of the waiting times of started tasks. */
export function waitSpread(job: Job): WaitSpread | undefined {
  const waits = [...startedTasks(job)].map((task) =>
    waitedMs(job, job.dag.stageOf(task).releasedAt, job.tasks.startedAtOf(task)),
  );
  const spread = spreadOf(Float64Array.from(waits));
  return spread && { tasks: waits.length, ...spread };
}

/** Sums the waiting times of started tasks since submission or the last retry by phase. Omits phases without waiting. */
export function waitSums(job: Job): WaitSum[] {
  const sums = PHASES_IN_ORDER.map((phase) => ({ phase, tasks: 0, totalMs: 0, maxMs: 0 }));
  const held = sums.find(({ phase }) => phase === 'held')!;
  const firstStarts = firstStartsOf(job);
  for (const task of startedTasks(job)) {
    const endOf = phaseEndsOf(job, task, firstStarts.get(task));
    let since = job.times.reopenedAt ?? job.acceptedAt;
    let heldMs = 0;
    for (const sum of sums) {
      const to = endOf[sum.phase];
      if (!(to > since)) continue;
      // Time on hold is not a wait for a worker, so it is subtracted.
      const phaseMs = sum === held ? 0 : sum.phase === 'worker' ? waitedMs(job, since, to) : to - since;
      heldMs += to - since - phaseMs;
      add(sum, phaseMs);
      since = to;
    }
    add(held, heldMs);
  }
  return sums
    .filter(({ tasks }) => tasks > 0)
    .map(({ phase, tasks, totalMs, maxMs }) => ({ phase, tasks, meanMs: totalMs / tasks, maxMs }));
}

/** Phases in chronological order. `WAIT_PHASES` is not, because new phases are appended to it. */
const PHASES_IN_ORDER: readonly WaitPhase[] = ['other-job', 'held', ...WAIT_PHASES.slice(1, -1)];

function add(sum: { tasks: number; totalMs: Millis; maxMs: Millis }, ms: Millis): void {
  if (!(ms > 0)) return;
  sum.tasks++;
  sum.totalMs += ms;
  sum.maxMs = Math.max(sum.maxMs, ms);
}

function phaseEndsOf(
  job: Job,
  task: TaskIndex,
  firstStart = Number.POSITIVE_INFINITY,
): Record<WaitPhase, Millis> {
  const startedAt = job.tasks.startedAtOf(task);
  return {
    'other-job': job.predecessors.endedAt ?? job.acceptedAt,
    held: job.times.eligibleAt,
    stage: job.dag.stageOf(task).releasedAt,
    worker: Math.min(startedAt, firstStart),
    retry: startedAt,
  };
}

/** First start of each task with an unsuccessful attempt, if that attempt is listed. */
function firstStartsOf(job: Job): Map<TaskIndex, Millis> {
  const starts = new Map<TaskIndex, Millis>();
  for (const { task, startedMs } of job.history.reports.unsuccessful) {
    const startedAt = job.acceptedAt + startedMs;
    if (startedAt >= runSince(job) && !starts.has(task)) starts.set(task, startedAt);
  }
  return starts;
}

/** Yields the tasks that have started, after a retry of the job only those that started again. */
function* startedTasks(job: Job): Iterable<TaskIndex> {
  const { tasks } = job;
  for (const task of tasks.inStates(TaskState.running, ...ENDED_STATES))
    if (hasStarted(tasks, task) && tasks.startedAtOf(task) >= runSince(job)) yield task;
}

function runSince({ times }: Job): Millis {
  return times.reopenedAt ?? Number.NEGATIVE_INFINITY;
}

export const ENDED_STATES = [TaskState.completed, TaskState.failed, TaskState.cancelled] as const;

/** Whether the task has started and its times are known. A task that ended before it started has no run time. */
export function hasStarted(tasks: Job['tasks'], task: TaskIndex): boolean {
  if (tasks.isArchived(task)) return false;
  const state = tasks.stateOf(task);
  return state === TaskState.running || state === TaskState.completed || tasks.runMsOf(task) > 0;
}
