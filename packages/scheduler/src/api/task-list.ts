import {
  JOB_STATES,
  type JobState,
  type MessageOf,
  type Millis,
  NOBODY,
  quoted,
  type TaskIndex,
  type TaskPage,
  type TaskRow,
} from '@goshawk/core';
import type { Refusal } from '../durability/ledger.js';
import type { Stage } from '../job/batch.js';
import { Page } from '../job/heap-bytes.js';
import type { Job } from '../job/job.js';
import { TASK_STATE_NAMES, TaskState } from '../job/task-state.js';
import { noSuchStage } from '../life/cancelling.js';
import type { SchedulerState } from '../state/state.js';

/** Maximum number of attempts read from the journal for one answer; each is a disk read. */
const ARCHIVED_READS_MAX = 500;

/** Task states as shown to users, indexed by `TaskState`. They omit how the scheduler finds workers. */
export const SHOWN_STATES: readonly JobState[] = TASK_STATE_NAMES.map((state) => {
  if (state === 'blocked' || state === 'placed') return 'waiting';
  // Skipped tasks are never shown.
  return state === 'skipped' ? 'cancelled' : state;
});

/** Lists tasks in order of their indexes, as many as fit into one answer. Filters apply before limits. */
export function taskPage(
  s: SchedulerState,
  job: Job,
  { states, stage: name, from, limit }: MessageOf<'listTasks'>,
  now: Millis,
): TaskPage | Refusal {
  const unknown = states.find((state) => !(JOB_STATES as readonly string[]).includes(state));
  if (unknown !== undefined)
    return {
      code: 'bad-state',
      message: `there is no task state ${quoted(unknown)}`,
      hint: `states are ${JOB_STATES.join(', ')}`,
    };
  const onlyStage = name === undefined ? undefined : job.stages.find(({ spec }) => spec.name === name);
  if (name !== undefined && onlyStage === undefined) return noSuchStage(job, name);
  const first = onlyStage?.first ?? 0;
  const end = onlyStage === undefined ? job.taskCount : onlyStage.first + onlyStage.count;
  const isWanted = SHOWN_STATES.map(
    (state, of) => of !== TaskState.skipped && (states.length === 0 || states.includes(state)),
  );
  const page = new Page<TaskRow>();
  let archivedReads = 0;
  let next: number | undefined;
  let stage = onlyStage ?? job.stages[0]!;
  for (let task = Math.max(first, from); task < end; task++) {
    if (!isWanted[job.tasks.stateOf(task)]) continue;
    while (task >= stage.first + stage.count) stage = job.stages[stage.index + 1]!;
    if (hasFailed(job, task) || job.tasks.isArchived(task)) archivedReads++;
    const isFull = page.items.length >= Math.max(1, limit) || archivedReads > ARCHIVED_READS_MAX;
    if (!isFull && page.take(rowOf(s, job, stage, task, now))) continue;
    next = task;
    break;
  }
  return {
    submittedAt: job.acceptedAt + s.config.wallOffsetMs,
    tasks: page.items,
    total: countWanted(job, first, end, isWanted),
    next,
  };
}

function countWanted(job: Job, first: number, end: number, isWanted: readonly boolean[]): number {
  const { states } = job.tasks;
  const isAll = isWanted.every((wanted, state) => wanted || state === TaskState.skipped);
  if (isAll && job.tasks.includedCount === job.taskCount) return end - first;
  let count = 0;
  for (let task = first; task < end; task++) if (isWanted[states[task]!]) count++;
  return count;
}

function rowOf(s: SchedulerState, job: Job, stage: Stage, task: TaskIndex, now: Millis): TaskRow {
  const { tasks } = job;
  const state = tasks.stateOf(task);
  const attempt = tasks.executionsOf(task);
  const row = { index: task, stage: stage.spec.name, state: SHOWN_STATES[state]!, attempt };
  const last = lastAttempt(s, job, task);
  const loans = job.existingLoans?.viewOf(task, tasks.attemptOf(task), now);
  if (state === TaskState.running) {
    const { worker, startedAt } = last!;
    return {
      ...row,
      worker,
      startedMs: startedAt - job.acceptedAt,
      runMs: job.elapsedMs(task, now),
      ...loans,
    };
  }
  const { worker, ...end } = problemOf(s, job, task);
  if (!hasRun(job, task)) return { ...row, ...end };
  // A command completes only by exiting with 0.
  const isCommand = state === TaskState.completed && 'exec' in job.dag.payloadOf(task);
  return {
    ...row,
    ...(last && {
      worker: worker || last.worker,
      // Times read from the journal are rounded, so a start could appear to precede the job.
      startedMs: Math.max(0, last.startedAt - job.acceptedAt),
      runMs: last.runMs,
    }),
    ...maxRssOf(job, task),
    ...loans,
    ...(isCommand ? { exitCode: 0 } : end),
  };
}

/** Returns the last failure of a task, or why the task is cancelled; empty for other tasks. */
export function problemOf(
  { env }: Pick<SchedulerState, 'env'>,
  job: Job,
  task: TaskIndex,
): Pick<TaskRow, 'worker' | 'exitCode' | 'error'> {
  if (job.tasks.stateOf(task) === TaskState.cancelled) return { error: whyCancelled(job, task) };
  const failure = hasFailed(job, task) ? job.history.reports.errorOf(task, env.readRecord) : undefined;
  if (failure === undefined) return {};
  const { exitCode, errorMessage, errorCode, kind } = failure.outcome;
  return { worker: failure.worker, exitCode, error: errorMessage || errorCode || kind };
}

/**
 * Returns the worker (empty: none) and times of a task's last attempt; undefined if they are only in the journal and
 * cannot be read.
 */
export function lastAttempt(
  { cluster, config, env }: SchedulerState,
  { tasks, history }: Job,
  task: TaskIndex,
): { readonly worker: string; readonly startedAt: Millis; readonly runMs: Millis } | undefined {
  if (!tasks.isArchived(task)) {
    const at = tasks.workerOf(task);
    const worker = at === NOBODY ? '' : cluster.nameOf(at);
    return { worker, startedAt: tasks.startedAtOf(task), runMs: tasks.runMsOf(task) };
  }
  const end = history.reports.endOf(task, env.readRecord);
  return end && { worker: end.worker, startedAt: end.at - config.wallOffsetMs - end.runMs, runMs: end.runMs };
}

function maxRssOf({ tasks }: Job, task: TaskIndex): Pick<TaskRow, 'maxRssBytes'> {
  const kibibytes = tasks.maxRssKiB?.[task] ?? 0;
  return kibibytes === 0 ? {} : { maxRssBytes: kibibytes * 1024 };
}

/** Whether the task has ended after running. A task cancelled before its start has not run. */
function hasRun({ tasks }: Job, task: TaskIndex): boolean {
  const state = tasks.stateOf(task);
  if (state === TaskState.cancelled) return tasks.runMsOf(task) > 0;
  return (state === TaskState.completed || state === TaskState.failed) && tasks.executionsOf(task) > 0;
}

/** Whether the task failed permanently or waits for a retry. */
function hasFailed({ tasks }: Job, task: TaskIndex): boolean {
  const state = tasks.stateOf(task);
  return state === TaskState.failed || (state < TaskState.running && tasks.executionsOf(task) > 0);
}

/** Returns the reason why a task is cancelled. */
export function whyCancelled(job: Job, task: TaskIndex): string {
  if (job.cancellation !== undefined) return job.cancellation.reason ?? 'the job was cancelled';
  const { spec, blockers } = job.dag.stageOf(task);
  const isBlocked = spec.after.length > 0 && blockers > 0 && !job.isCancelling(task);
  return isBlocked ? 'an earlier stage that it depends on did not complete' : 'the task was cancelled';
}
