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

// The owner's half of central placement (Hawk §3.7): waiting tasks are handed to central, which says where they were put, and is
// asked again for those of which nothing was heard.

/** Hands the waiting tasks of the stage to central, as new attempts: as many as the job may run at a time. */
export function placeTasks(s: SchedulerState, job: Job, stage: Stage, now: Millis): void {
  const tasks: TaskAttempt[] = [];
  for (let left = job.headroom; left > 0; left--) {
    const task = job.waiting.take(stage);
    if (task < 0) break;
    job.tasks.nextAttempt(task);
    job.set(task, TaskState.placing);
    tasks.push({ task, attempt: job.tasks.attempts[task]! });
  }
  if (tasks.length === 0) return;
  job.placeSentAt = now;
  send(s, job, stage, tasks);
}

/** Sends again what central has not placed; central knows what it has seen by job, task and attempt. */
export function placeAgain(s: SchedulerState, job: Job, now: Millis): void {
  job.placeSentAt = now;
  for (const stage of job.stages) {
    const tasks: TaskAttempt[] = [];
    for (let task = stage.first; task < stage.first + stage.count; task++) {
      if (job.tasks.states[task] === TaskState.placing)
        tasks.push({ task, attempt: job.tasks.attempts[task]! });
    }
    send(s, job, stage, tasks);
  }
}

/**
 * Tasks that were placed for long and have not asked: they may wait behind others, or never have come to their
 * worker, or have been given back. Central is asked again, ever less often, and whoever asks first gets them.
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
  if (job.tasks.states[task] !== TaskState.placing || job.tasks.attempts[task] !== attempt) return;
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
