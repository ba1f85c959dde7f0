import type { JobSpec, TaskList } from '@goshawk/core';
import { heapBytes } from './heap-bytes.js';

/** Memory of a job without its tasks, in bytes. */
const JOB_BYTES = 3_200;
/** Memory of one task: its state, attempts, times and worker. */
export const TASK_BYTES = 64;
/** Memory of a task whose attempts are only in the journal. */
export const ARCHIVED_TASK_BYTES = 8;

/** Estimates the memory of a job before it runs, in bytes: accurate enough to enforce limits. */
export function estimateJobBytes(spec: JobSpec): number {
  const listed = heapBytes([spec.after ?? [], spec.afterOk ?? [], spec.retryOf?.tasks ?? []]);
  return spec.stages.reduce((sum, { tasks }) => sum + taskListBytes(tasks), JOB_BYTES + listed);
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
