import { invariant, NOBODY } from '@goshawk/core';
import type { Job } from './job.js';
import { TASK_STATE_NAMES, TaskState } from './task-state.js';

/** Checks that the counts of a job agree with the states of its tasks, and that running tasks have workers. */
export function checkJob(job: Job): void {
  const { tasks } = job;
  const counts = new Array<number>(TASK_STATE_NAMES.length).fill(0);
  for (const state of tasks.states) counts[state]!++;
  counts.forEach((count, state) => {
    invariant(
      count === tasks.countOf(state as TaskState),
      () =>
        `${job.id}: ${count} tasks are ${TASK_STATE_NAMES[state]}, counted ${tasks.countOf(state as TaskState)}`,
    );
  });
  for (const stage of job.stages) {
    let waiting = 0;
    let unfinished = 0;
    for (let task = stage.first; task < stage.first + stage.count; task++) {
      if (tasks.states[task] === TaskState.waiting && !job.estimate.sample?.isUndecidedPilot(task)) waiting++;
      if (!tasks.isFinal(task)) unfinished++;
    }
    invariant(waiting === stage.waiting, () => `${job.id}: ${waiting} tasks wait, counted ${stage.waiting}`);
    invariant(
      unfinished === stage.unfinished,
      () => `${job.id}: ${unfinished} unfinished, counted ${stage.unfinished}`,
    );
  }
  const pilots = job.estimate.sample?.pilots;
  const waiting = job.estimate.sample?.tasks.filter(
    (task) => job.estimate.sample?.isUndecidedPilot(task) && tasks.states[task] === TaskState.waiting,
  );
  invariant(
    waiting?.length === pilots?.waiting,
    () => `${job.id}: ${waiting?.length} pilots wait, counted ${pilots?.waiting}`,
  );
  invariant(
    job.hasEnded === (job.unfinishedCount === 0 && (!job.isOpen || job.cancelling)),
    () => `${job.id}: ended ${job.hasEnded}, ${job.unfinishedCount} left, open ${job.isOpen}`,
  );
  for (let task = 0; task < job.taskCount; task++) {
    const state = tasks.stateOf(task);
    const isAtWorker = state === TaskState.running || state === TaskState.placed;
    invariant(
      !isAtWorker || tasks.workerOf(task) !== NOBODY,
      () => `task ${task} of ${job.id} runs at no worker`,
    );
    invariant(
      tasks.isIndexedCorrectly(task, isAtWorker),
      () => `task ${task} of ${job.id} is indexed at another worker than ${tasks.workerOf(task)}`,
    );
  }
}
