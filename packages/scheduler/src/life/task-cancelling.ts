import { counted, type MessageOf, type Millis, mergedRanges, quoted, type TaskRange } from '@goshawk/core';
import { noSuchStage } from '../api/task-list.js';
import type { Refusal } from '../durability/ledger.js';
import { type Job, TaskState } from '../job/job.js';
import type { SchedulerParts } from '../parts.js';

/** Outcome of cancelling tasks. */
export interface CancelledTasks {
  readonly cancelled: number;
  /** They run, and are killed. */
  readonly killing: number;
  /** They had completed or failed before. */
  readonly ended: number;
}

/** Cancels single tasks of a job, which goes on with the others; the stages after them cannot run any more. */
export function cancelTasks(
  s: SchedulerParts,
  job: Job,
  message: MessageOf<'cancelTasks'>,
  now: Millis,
): CancelledTasks | Refusal {
  const ranges = rangesOf(job, message);
  if ('code' in ranges) return ranges;
  if (!job.hasEnded && !job.cancelling && job.cancelTasks(ranges)) {
    s.ledger.tasksCancelled(job, ranges, now);
    for (const { first, last } of ranges) {
      for (let task = first; task <= last && !job.hasEnded; task++) {
        const state = job.tasks.stateOf(task);
        if (state === TaskState.running || state === TaskState.placed)
          s.cancelling.cancelAt(job.tasks.workerOf(task), job, task);
        if (state < TaskState.running) s.endings.cancelled(job, task, now);
      }
    }
    if (!job.hasEnded) s.routing.fewerWait(job, now);
    s.sweepTimer.arm(now);
    s.events.changed(job, now);
  }
  return countIn(job, ranges);
}

function rangesOf(
  job: Job,
  { tasks, stage: name }: MessageOf<'cancelTasks'>,
): readonly TaskRange[] | Refusal {
  const stage = name === undefined ? undefined : job.stages.find(({ spec }) => spec.name === name);
  if (name !== undefined && stage === undefined) return noSuchStage(job, name);
  const first = stage?.first ?? 0;
  const last = stage === undefined ? job.taskCount - 1 : stage.first + stage.count - 1;
  if (tasks.length === 0) return [{ first, last }];
  const outside = tasks.find((range) => range.first < first || range.last > last || range.first > range.last);
  if (outside === undefined) return mergedRanges(tasks);
  const whose = name === undefined ? job.id : `stage ${quoted(name)} of ${job.id}`;
  const wrong = outside.first < first ? outside.first : outside.last;
  return {
    code: 'unknown-task',
    message: `${whose} has no task ${wrong}`,
    hint: `its ${counted(last - first + 1, 'task')} ${first === last ? `is ${first}` : `are ${first} to ${last}`}, as \`goshawk tasks\` numbers them`,
  };
}

function countIn(job: Job, ranges: readonly TaskRange[]): CancelledTasks {
  let cancelled = 0;
  let killing = 0;
  let ended = 0;
  for (const { first, last } of ranges) {
    for (let task = first; task <= last; task++) {
      const state = job.tasks.stateOf(task);
      if (state === TaskState.cancelled) cancelled++;
      else if (job.tasks.isFinal(task)) ended++;
      else killing++;
    }
  }
  return { cancelled, killing, ended };
}
