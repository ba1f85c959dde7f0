import type { PolicySettings } from '@goshawk/core';
import type { SchedulerEnvironment } from '../contract.js';
import type { Job } from '../job/job.js';

/** Where the policy abandons jobs that have not started by their deadlines. Again does no harm. */
export function watchDeadline(job: Job, { preset }: PolicySettings, env: SchedulerEnvironment): void {
  if (preset.abandons && job.spec.deadlineMs !== undefined)
    env.setTimer('deadline', job.number, job.deadlineAt);
}
