import { hashText, mergedRanges, type RetryChoice, type TaskIndex, type TaskRange } from '@goshawk/core';
import type { Dag } from './dag.js';
import { TaskState } from './task-state.js';
import type { TaskTable } from './task-table.js';

/** The tasks of an ended job that run again. */
export interface Reopening {
  /** 1 at the index of each task that runs again. */
  readonly marks: Uint8Array;
  readonly count: number;
  /** Selected tasks that do not run again because they completed. */
  readonly completed: number;
}

/** A selected task that cannot run, because tasks of a preceding stage neither completed nor run again. */
interface IncompleteStage {
  readonly task: TaskIndex;
  readonly stage: string;
}

/**
 * Finds the tasks of an ended job that a retry runs again: the selected tasks, and the cancelled tasks of
 * stages that depend on them. The result depends only on the selection and the states of the tasks, so
 * replaying the journal gives the same result.
 */
export function findReopening(dag: Dag, tasks: TaskTable, choice: RetryChoice): Reopening | IncompleteStage {
  const marks = new Uint8Array(tasks.count);
  const { states } = tasks;
  // Merges overlapping ranges, so that each task is visited once.
  const completed = choice.tasks === undefined ? 0 : markSelected(marks, states, mergedRanges(choice.tasks));
  const statesToRetry = choice.tasks === undefined ? retriedStates(choice) : 0;
  /** For each stage, whether each of its tasks has completed, was skipped, or runs again. */
  const canComplete: boolean[] = [];
  const hasMarks: boolean[] = [];
  let count = 0;
  for (const { index, spec, first, count: size } of dag.stages) {
    const incomplete = spec.after.find((before) => !canComplete[before]);
    const dependsOnMarked = incomplete === undefined && spec.after.some((before) => hasMarks[before]);
    const isChosen = (task: TaskIndex): boolean =>
      marks[task] === 1 || ((statesToRetry >> states[task]!) & 1) === 1;
    // A gang runs again as a whole.
    const isGang = spec.gang === true && anyTask(first, size, isChosen);
    let marked = 0;
    let left = 0;
    for (let task = first; task < first + size; task++) {
      const state = states[task]!;
      if (state === TaskState.completed || state === TaskState.skipped) continue;
      const isSelected = isGang || isChosen(task);
      if (isSelected && incomplete !== undefined) {
        if (choice.tasks !== undefined) return { task, stage: dag.stages[incomplete]!.spec.name };
        left++;
      } else if (isSelected || (dependsOnMarked && state === TaskState.cancelled)) {
        marks[task] = 1;
        marked++;
      } else left++;
    }
    canComplete[index] = left === 0;
    hasMarks[index] = marked > 0;
    count += marked;
  }
  return { marks, count, completed };
}

function anyTask(first: TaskIndex, count: number, is: (task: TaskIndex) => boolean): boolean {
  for (let task = first; task < first + count; task++) if (is(task)) return true;
  return false;
}

/** Bit set of the states whose tasks run again if the request names no tasks. */
function retriedStates({ failedOnly }: RetryChoice): number {
  return (1 << TaskState.failed) | (failedOnly === true ? 0 : 1 << TaskState.cancelled);
}

/** Marks the selected tasks that have not completed. @returns how many have completed */
function markSelected(marks: Uint8Array, states: TaskTable['states'], ranges: readonly TaskRange[]): number {
  let completed = 0;
  for (const { first, last } of ranges) {
    for (let task = first; task <= last && task < states.length; task++) {
      if (states[task] === TaskState.skipped) continue;
      if (states[task] === TaskState.completed) completed++;
      else marks[task] = 1;
    }
  }
  return completed;
}

/** Maximum number of keys that are kept. A client repeats only its latest retry request. */
const KEYS_MAX = 16;

/** The latest retries of a job, to recognize repeated requests. */
export class RetryKeys {
  readonly #retries: { readonly key: string; readonly choice: number }[] = [];

  add(key: string, choice: RetryChoice): void {
    this.#retries.push({ key, choice: hashOf(choice) });
    if (this.#retries.length > KEYS_MAX) this.#retries.shift();
  }

  /** Whether a retry had this key: the same request, or one that selected other tasks. */
  find(key: string, choice: RetryChoice): 'same' | 'other' | undefined {
    const known = this.#retries.find((each) => each.key === key);
    return known && (known.choice === hashOf(choice) ? 'same' : 'other');
  }
}

function hashOf({ failedOnly, tasks }: RetryChoice): number {
  const ranges = tasks?.map(({ first, last }) => `${first}-${last}`).join(',') ?? 'all';
  return hashText(`${failedOnly === true} ${ranges}`);
}
