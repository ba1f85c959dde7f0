import {
  type Millis,
  type TaskIndex,
  WAIT_PHASES,
  type WaitPhase,
  type WaitSpread,
  type WaitSum,
} from '@goshawk/core';
import type { Stage } from '../job/batch.js';
import { type Job, TaskState } from '../job/job.js';
import { spreadOf } from './job-views.js';

/** When a task that waits might start: all before it had ended, and it was known what its job is. */
export function readyAt(job: Job, stage: Stage, isPilot: boolean): Millis {
  return isPilot ? stage.releasedAt : Math.max(stage.releasedAt, job.decidedAt ?? stage.releasedAt);
}

/** The same of a task that has started: a pilot, or one of the rest, may have done so before it was known. */
export function readyBefore(job: Job, task: TaskIndex): Millis {
  const isPilot = job.sample?.isPilot(task) ?? false;
  const startedBefore = job.decidedAt !== undefined && job.tasks.startedAt[task]! < job.decidedAt;
  return readyAt(job, job.dag.stageOf(task), isPilot || startedBefore);
}

/** How long the tasks that run or have completed had waited, from when they might start. */
export function waitSpread(job: Job): WaitSpread | undefined {
  const waits = [...startedTasks(job)].map((task) =>
    Math.max(0, job.tasks.startedAt[task]! - readyBefore(job, task)),
  );
  const spread = spreadOf(Float64Array.from(waits));
  return spread && { tasks: waits.length, ...spread };
}

/** What these tasks waited for from the submission on, one thing after another; phases that took none of them any time are left out. */
export function waitSums(job: Job): WaitSum[] {
  const sums = WAIT_PHASES.map((phase) => ({ phase, tasks: 0, totalMs: 0, maxMs: 0 }));
  const firstStarts = firstStartsOf(job);
  for (const task of startedTasks(job)) {
    const until = phaseEnds(job, task, firstStarts.get(task));
    let since = job.acceptedAt;
    for (const sum of sums) {
      const waitedMs = until[sum.phase] - since;
      if (!(waitedMs > 0)) continue;
      sum.tasks++;
      sum.totalMs += waitedMs;
      sum.maxMs = Math.max(sum.maxMs, waitedMs);
      since = until[sum.phase];
    }
  }
  return sums
    .filter(({ tasks }) => tasks > 0)
    .map(({ phase, tasks, totalMs, maxMs }) => ({ phase, tasks, meanMs: totalMs / tasks, maxMs }));
}

function phaseEnds(
  job: Job,
  task: TaskIndex,
  firstStart = Number.POSITIVE_INFINITY,
): Record<WaitPhase, Millis> {
  const startedAt = job.tasks.startedAt[task]!;
  return {
    'other-job': job.arrivedAt,
    stage: job.dag.stageOf(task).releasedAt,
    pilots: readyBefore(job, task),
    worker: Math.min(startedAt, firstStart),
    retry: startedAt,
  };
}

/** When the first attempt started of tasks of which one came to nothing, as far as these are listed. */
function firstStartsOf(job: Job): Map<TaskIndex, Millis> {
  const starts = new Map<TaskIndex, Millis>();
  for (const { task, startedMs } of job.history.reports.setbacks)
    if (!starts.has(task)) starts.set(task, job.acceptedAt + startedMs);
  return starts;
}

function startedTasks({ tasks }: Job): Iterable<TaskIndex> {
  return tasks.in(TaskState.running, TaskState.completed);
}
