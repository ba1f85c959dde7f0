import type { JobSpec, TaskList } from '@goshawk/core';
import { heapBytes } from './heap-bytes.js';

/** Memory of a job without its tasks, in bytes. */
const JOB_BYTES = 3_200;
/** Memory of one task: its state, attempts, times and worker. */
export const TASK_BYTES = 64;
/** Memory of a task whose attempts are only in the journal. */
export const ARCHIVED_TASK_BYTES = 8;

/** The part of it that is the specification of a plain job. */
const PLAIN_SPEC_BYTES = 1_000;
/** Requirements count this often: the scheduler derives needs from them, and central keeps those of all schedulers. */
const REQUIREMENT_COPIES = 4;

/** Estimates the memory of a job before it runs, in bytes: accurate enough to enforce limits. */
export function estimateJobBytes({ stages, prefer, ...rest }: JobSpec): number {
  let tasks = 0;
  let described = heapBytes(rest) + REQUIREMENT_COPIES * heapBytes(prefer);
  for (const stage of stages) {
    const { tasks: list, requires, ...others } = stage;
    tasks += taskListBytes(list);
    described += heapBytes(others) + REQUIREMENT_COPIES * heapBytes(requires);
  }
  return JOB_BYTES + Math.max(0, described - PLAIN_SPEC_BYTES) + tasks;
}

function taskListBytes(tasks: TaskList): number {
  if ('count' in tasks) return tasks.count * TASK_BYTES + heapBytes(tasks.run);
  if ('sleepsMs' in tasks) return tasks.sleepsMs.length * TASK_BYTES;
  // Consecutive tasks that were read from a journal may share one payload object.
  return tasks.each.reduce(
    (sum, payload, index) => sum + TASK_BYTES + (payload === tasks.each[index - 1] ? 0 : heapBytes(payload)),
    0,
  );
}
