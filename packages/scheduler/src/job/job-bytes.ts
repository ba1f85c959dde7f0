import type { JobSpec, TaskList } from '@goshawk/core';
import { heapBytes } from './heap-bytes.js';

/** Size of a job's record, and of each task's state, attempts, times and worker. */
const JOB_BYTES = 3_200;
export const TASK_BYTES = 64;
/** Size of a task of which only the journal has the attempts. */
export const ARCHIVED_TASK_BYTES = 8;

/** Estimated memory of a job, from its submission on: accurate enough to limit it. Bytes. */
export function estimateJobBytes(spec: JobSpec): number {
  const listed = heapBytes([spec.after ?? [], spec.afterOk ?? [], spec.retryOf?.tasks ?? []]);
  return spec.stages.reduce((sum, { tasks }) => sum + taskListBytes(tasks), JOB_BYTES + listed);
}

function taskListBytes(tasks: TaskList): number {
  if ('count' in tasks) return tasks.count * TASK_BYTES + heapBytes(tasks.run);
  if ('sleepsMs' in tasks) return tasks.sleepsMs.length * TASK_BYTES;
  // Payloads read from a journal may be one shared object.
  return tasks.each.reduce(
    (sum, payload, at) => sum + TASK_BYTES + (payload === tasks.each[at - 1] ? 0 : heapBytes(payload)),
    0,
  );
}
