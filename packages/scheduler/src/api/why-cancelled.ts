import type { TaskIndex } from '@goshawk/core';
import type { Job } from '../job/job.js';

/** Returns the reason why a task is cancelled. */
export function whyCancelled(job: Job, task: TaskIndex): string {
  if (job.cancellation !== undefined) return job.cancellation.reason ?? 'the job was cancelled';
  const { spec, blockers } = job.dag.stageOf(task);
  const isBlocked = spec.after.length > 0 && blockers > 0 && !job.isCancelling(task);
  return isBlocked ? 'an earlier stage that it depends on did not complete' : 'the task was cancelled';
}
