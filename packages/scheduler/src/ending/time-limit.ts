import type { Environment } from '@goshawk/core';
import type { Job } from '../job/job.js';

/** To be called when the first start of a job may have become known; again does no harm. */
export function watchTimeLimit(job: Job, env: Environment): void {
  const { timeLimitAt } = job;
  if (timeLimitAt < Number.POSITIVE_INFINITY) env.setTimer('timeLimit', job.number, timeLimitAt);
}
