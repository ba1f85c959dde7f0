import { invariant } from '@goshawk/core';
import type { Sample } from '../sampling/sample.js';
import type { Stage } from './batch.js';
import { TASK_STATE_NAMES, TaskState } from './task-state.js';
import type { TaskTable } from './task-table.js';

interface Checked {
  readonly id: string;
  readonly tasks: TaskTable;
  readonly stages: readonly Stage[];
  readonly sample: Sample | undefined;
  readonly hasEnded: boolean;
  readonly unfinished: number;
}

/** What holds of a job between any two steps. */
export function checkJob(job: Checked): void {
  const counts = new Array<number>(TASK_STATE_NAMES.length).fill(0);
  for (const state of job.tasks.states) counts[state]!++;
  counts.forEach((count, state) => {
    invariant(
      count === job.tasks.countOf(state as TaskState),
      () =>
        `${job.id}: ${count} tasks are ${TASK_STATE_NAMES[state]}, counted ${job.tasks.countOf(state as TaskState)}`,
    );
  });
  for (const stage of job.stages) {
    let waiting = 0;
    let unfinished = 0;
    for (let task = stage.first; task < stage.first + stage.count; task++) {
      if (job.tasks.states[task] === TaskState.waiting && !job.sample?.holds(task)) waiting++;
      if (!job.tasks.isFinal(task)) unfinished++;
    }
    invariant(waiting === stage.waiting, () => `${job.id}: ${waiting} tasks wait, counted ${stage.waiting}`);
    invariant(
      unfinished === stage.unfinished,
      () => `${job.id}: ${unfinished} unfinished, counted ${stage.unfinished}`,
    );
  }
  const pilots = job.sample?.pilots;
  const waiting = job.sample?.tasks.filter(
    (task) => job.sample?.holds(task) && job.tasks.states[task] === TaskState.waiting,
  );
  invariant(
    waiting?.length === pilots?.waiting,
    () => `${job.id}: ${waiting?.length} pilots wait, counted ${pilots?.waiting}`,
  );
  invariant(
    job.hasEnded === (job.unfinished === 0),
    () => `${job.id}: ended ${job.hasEnded}, ${job.unfinished} left`,
  );
}
