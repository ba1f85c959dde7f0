import type { JobSpec, Lane, Millis, Payload, TaskIndex } from '@goshawk/core';
import { type Stage, stagesOf } from './batch.js';
import { TaskState } from './task-state.js';
import type { TaskTable } from './task-table.js';

/** Whether all tasks of the stage have completed, not counting skipped ones. */
function areAllCompleted({ first, count }: Stage, { states }: TaskTable): boolean {
  for (let task = first; task < first + count; task++)
    if (states[task] !== TaskState.completed && states[task] !== TaskState.skipped) return false;
  return true;
}

function dependentsOf(stages: readonly Stage[]): Stage[][] {
  const dependents = stages.map((): Stage[] => []);
  for (const stage of stages) for (const before of stage.spec.after) dependents[before]!.push(stage);
  return dependents;
}

/** The stages of a job and their dependencies. */
export class Dag {
  readonly stages: readonly Stage[];
  /** The stages that depend on each stage; undefined before the end of the first one. */
  #dependents: readonly (readonly Stage[])[] | undefined;
  readonly #spec: JobSpec;
  readonly #lane: Lane;

  constructor(spec: JobSpec, lane: Lane, acceptedAt: Millis) {
    this.#spec = spec;
    this.#lane = lane;
    this.stages = stagesOf(spec, lane, acceptedAt);
  }

  /** The stages of an ended job of which some tasks run again. None of them is released yet. */
  reopened(tasks: TaskTable, now: Millis): Dag {
    const dag = new Dag(this.#spec, this.#lane, now);
    for (const stage of dag.stages) stage.copyAppended(this.stages[stage.index]!);
    const isCompleted = dag.stages.map((stage) => areAllCompleted(stage, tasks));
    for (const stage of dag.stages) {
      stage.unfinished = 0;
      for (let task = stage.first; task < stage.first + stage.count; task++)
        if (!tasks.isFinal(task)) stage.unfinished++;
      const blockers = stage.spec.after.filter((before) => !isCompleted[before]).length;
      stage.blockers = stage.unfinished === 0 ? Number.POSITIVE_INFINITY : blockers;
    }
    return dag;
  }

  /** Finds the stage of a task by binary search. */
  stageOf(task: TaskIndex): Stage {
    let low = 0;
    let high = this.stages.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.stages[middle]!.first <= task) low = middle;
      else high = middle - 1;
    }
    return this.stages[low]!;
  }

  payloadOf(task: TaskIndex): Payload {
    return this.stageOf(task).payloadOf(task);
  }

  /**
   * Handles the end of all tasks of a stage: its dependent stages may start, or are cancelled.
   *
   * @param cancel cancels a stage that depends on a stage that did not complete
   * @returns the stages that may start, and the dependents of cancelled ones
   */
  ended(stage: Stage, tasks: TaskTable, isCancelling: boolean, cancel: (stage: Stage) => void): Stage[] {
    const next: Stage[] = [];
    const completed = areAllCompleted(stage, tasks);
    this.#dependents ??= dependentsOf(this.stages);
    for (const other of this.#dependents[stage.index]!) {
      if (completed) {
        if (--other.blockers === 0 && !isCancelling) next.push(other);
      } else if (other.unfinished > 0) {
        cancel(other);
        next.push(...this.ended(other, tasks, isCancelling, cancel));
      }
    }
    return next;
  }
}
