import {
  type Address,
  type AttemptNumber,
  LIMITS,
  listAttributes,
  type Millis,
  NOBODY,
  type TaskAttempt,
  type TaskIndex,
} from '@goshawk/core';
import type { Stage } from '../job/batch.js';
import { type Job, TaskState } from '../job/job.js';
import type { SchedulerState } from '../state.js';
import { longerPause } from './probe-watch.js';

// The owner's half of central placement (Hawk §3.7): waiting tasks are sent to central, which answers with their
// workers, and unanswered requests are retried.

/** Requests placement of the stage's waiting tasks as new attempts, within the job's limit. */
export function placeTasks(s: SchedulerState, job: Job, stage: Stage, now: Millis): void {
  const tasks: TaskAttempt[] = [];
  for (let left = job.headroom; left > 0; left--) {
    const task = job.waiting.take(stage);
    if (task < 0) break;
    job.tasks.nextAttempt(task);
    job.set(task, TaskState.placing);
    tasks.push({ task, attempt: job.tasks.attemptOf(task) });
  }
  if (tasks.length === 0) return;
  job.placeSentAt = now;
  send(s, job, stage, tasks);
}

/** Repeats requests that central has not answered; central recognizes them by job, task and attempt. */
export function placeAgain(s: SchedulerState, job: Job, now: Millis): void {
  job.placeSentAt = now;
  for (const stage of job.stages) {
    const tasks: TaskAttempt[] = [];
    for (let task = stage.first; task < stage.first + stage.count; task++) {
      if (job.tasks.states[task] === TaskState.placing)
        tasks.push({ task, attempt: job.tasks.attemptOf(task) });
    }
    send(s, job, stage, tasks);
  }
}

/**
 * Repeats requests for tasks whose workers have not asked for long: they may be queued, lost in flight, or returned.
 * The interval grows, and the first worker that asks gets the task.
 */
export function doubtPlaced(s: SchedulerState, job: Job, pauseMs: Millis, now: Millis): void {
  if (now - job.placeSentAt < Math.max(pauseMs, job.placedPauseMs)) return;
  job.placedPauseMs = longerPause(job.placedPauseMs, pauseMs);
  for (const task of [...job.tasks.in(TaskState.placed)]) {
    job.tasks.setWorker(task, NOBODY);
    job.set(task, TaskState.placing);
  }
  placeAgain(s, job, now);
}

/** Central has chosen the worker. */
export function taskPlaced(job: Job, task: TaskIndex, attempt: AttemptNumber, worker: Address): void {
  if (job.tasks.states[task] !== TaskState.placing || job.tasks.attemptOf(task) !== attempt) return;
  job.tasks.setWorker(task, worker);
  job.set(task, TaskState.placed);
}

function send(s: SchedulerState, job: Job, stage: Stage, tasks: readonly TaskAttempt[]): void {
  const { central } = s.cluster;
  if (central === NOBODY) return;
  for (let from = 0; from < tasks.length; from += LIMITS.tasksPerMessageMax) {
    s.env.send(central, {
      type: 'place',
      job: job.number,
      stage: stage.index,
      long: job.class === 'long',
      tasks: tasks.slice(from, from + LIMITS.tasksPerMessageMax),
      estimateMs: job.believedMs,
      demand: stage.spec.demand,
      requires: listAttributes(stage.spec.requires),
    });
  }
}
