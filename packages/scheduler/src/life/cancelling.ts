import { counted, type MessageOf, type Millis, mergedRanges, quoted, type TaskRange } from '@goshawk/core';
import { waitingTasksCancelled, withdrawSearch } from '../dispatch/routing.js';
import type { Refusal } from '../durability/ledger.js';
import type { Job } from '../job/job.js';
import { TaskState } from '../job/task-state.js';
import type { SchedulerState } from '../state/state.js';
import { endIfDone, taskCancelled } from './endings.js';
import { killAttempt } from './killing.js';

/** Result of a request to cancel tasks. */
export interface CancelledTasks {
  readonly cancelled: number;
  /** Number of running tasks that will be killed. */
  readonly killing: number;
  /** Number of tasks that had completed or failed before. */
  readonly ended: number;
}

// Cancels jobs and tasks. Waiting tasks end immediately, running ones when their workers have killed them.

/** Cancels a job. @param reason why the scheduler cancels it; undefined: a user does */
export function cancelJob(s: SchedulerState, job: Job, now: Millis, reason?: string): void {
  if (job.hasEnded || job.cancelling) return;
  job.cancellation = { reason };
  s.tallies.cancellations++;
  s.ledger.cancelled(job, now);
  withdrawSearch(s, job);
  for (const task of [...job.tasks.inStates(TaskState.placed, TaskState.running)]) {
    killAttempt(s, job.tasks.workerOf(task), job.tasks.ref(task));
    if (job.tasks.stateOf(task) === TaskState.placed) job.setState(task, TaskState.cancelled);
  }
  job.cancelWaiting();
  s.sweepTimer.arm(now);
  endIfDone(s, job, now);
}

/** Cancels individual tasks of a job. The others continue, but dependent stages are cancelled. */
export function cancelTasks(
  s: SchedulerState,
  job: Job,
  message: MessageOf<'cancelTasks'>,
  now: Millis,
): CancelledTasks | Refusal {
  const ranges = resolveRanges(job, message);
  if ('code' in ranges) return ranges;
  if (!job.hasEnded && !job.cancelling && job.cancelTasks(ranges)) {
    s.ledger.tasksCancelled(job, ranges, now);
    for (const { first, last } of ranges) {
      for (let task = first; task <= last && !job.hasEnded; task++) {
        const state = job.tasks.stateOf(task);
        if (state === TaskState.running || state === TaskState.placed)
          killAttempt(s, job.tasks.workerOf(task), job.tasks.ref(task));
        if (state < TaskState.running) taskCancelled(s, job, task, now);
      }
    }
    if (!job.hasEnded) waitingTasksCancelled(s, job, now);
    s.sweepTimer.arm(now);
    s.events.changed(job, now);
  }
  return countStates(job, ranges);
}

function resolveRanges(
  job: Job,
  { tasks, stage: name }: MessageOf<'cancelTasks'>,
): readonly TaskRange[] | Refusal {
  const stage = name === undefined ? undefined : job.stages.find(({ spec }) => spec.name === name);
  if (name !== undefined && stage === undefined) return noSuchStage(job, name);
  const first = stage?.first ?? 0;
  const last = stage === undefined ? job.taskCount - 1 : stage.first + stage.count - 1;
  if (tasks.length === 0) return [{ first, last }];
  const outside = tasks.find((range) => range.first < first || range.last > last || range.first > range.last);
  if (outside === undefined && tasks.some((range) => hasAny(job, range))) return mergedRanges(tasks);
  const whose = name === undefined ? job.id : `stage ${quoted(name)} of ${job.id}`;
  const { first: low, last: high } = outside ?? tasks[0]!;
  const wrong = outside === undefined || low < first ? low : high;
  const range = first === last ? `is ${first}` : `are ${first} to ${last}`;
  return {
    code: 'unknown-task',
    message: `${whose} has no task ${wrong}`,
    hint:
      outside === undefined
        ? `it retries other tasks of ${job.spec.retryOf?.job}, as \`goshawk tasks\` lists them`
        : `its ${counted(last - first + 1, 'task')} ${range}, as \`goshawk tasks\` numbers them`,
  };
}

function hasAny(job: Job, { first, last }: TaskRange): boolean {
  for (let task = first; task <= last; task++) if (job.has(task)) return true;
  return false;
}

function countStates(job: Job, ranges: readonly TaskRange[]): CancelledTasks {
  let cancelled = 0;
  let killing = 0;
  let ended = 0;
  for (const { first, last } of ranges) {
    for (let task = first; task <= last; task++) {
      const state = job.tasks.stateOf(task);
      if (!job.has(task)) continue;
      if (state === TaskState.cancelled) cancelled++;
      else if (job.tasks.isFinal(task)) ended++;
      else killing++;
    }
  }
  return { cancelled, killing, ended };
}

/** The refusal for a stage that the job does not have. */
export function noSuchStage(job: Job, name: string): Refusal {
  const names = job.stages.slice(0, STAGES_LISTED_MAX).map(({ spec }) => spec.name);
  const more = job.stages.length > names.length ? `, … (${counted(job.stages.length, 'stage')})` : '';
  return {
    code: 'unknown-stage',
    message: `${job.id} has no stage ${quoted(name)}`,
    hint: `its stages are ${names.join(', ')}${more}`,
  };
}

const STAGES_LISTED_MAX = 10;
