import type { Environment, Millis, PolicySettings, Timings } from '@goshawk/core';
import type { Job } from './job.js';

// The timers of one job. Setting a timer that is already set is harmless.

export type JobTimer =
  /** The deadline of the job has passed. */
  | 'deadline'
  /** The time limit of the job has passed. */
  | 'timeLimit'
  /** The clients of the open job may have disappeared. */
  | 'open'
  /** The back-off of a task has ended. */
  | 'retry'
  /** The pilots may have run long enough to classify the job. */
  | 'weigh';

/**
 * Sets the deadline timer if misses are reported to central, or the policy fails the jobs.
 *
 * @param earliest a deadline before this time counts as this time
 */
export function setDeadlineTimer(
  job: Job,
  { joinedPolicy, timings }: { readonly joinedPolicy: PolicySettings; readonly timings: Timings },
  env: Environment<JobTimer>,
  earliest = Number.NEGATIVE_INFINITY,
): void {
  if (job.spec.deadlineMs !== undefined && (joinedPolicy.preset.abandons || timings.heartbeatMs > 0))
    env.setTimer('deadline', job.number, Math.max(job.deadlineAt, earliest));
}

/** Sets the timer for the time limit. Called when the first start of the job may have changed. */
export function setTimeLimitTimer(job: Job, env: Environment<JobTimer>): void {
  const { timeLimitAt } = job;
  if (timeLimitAt < Number.POSITIVE_INFINITY) env.setTimer('timeLimit', job.number, timeLimitAt);
}

/** Sets the timer for the next end of a back-off. */
export function setRetryTimer(job: Job, env: Environment<JobTimer>): void {
  if (job.inBackoff.isAny) env.setTimer('retry', job.number, job.inBackoff.nextEndAt);
}

/** When an open job is closed unless a client is active before; Infinity: the job is not open. */
export function closesAt({ client, spec }: Job): Millis {
  return client.isOpen ? client.activeAt + spec.openMs! : Number.POSITIVE_INFINITY;
}

/** Sets the timer that closes an open job without active clients. */
export function setOpenTimer(job: Job, env: Environment<JobTimer>): void {
  if (job.isOpen) env.setTimer('open', job.number, closesAt(job));
}

/** Clears the timers of an ended job. */
export function clearTimers({ spec, number, estimate, inBackoff }: Job, env: Environment<JobTimer>): void {
  if (spec.deadlineMs !== undefined) env.clearTimer('deadline', number);
  if (spec.retryBackoffMs !== undefined || inBackoff.isAny) env.clearTimer('retry', number);
  if (spec.timeLimitMs !== undefined) env.clearTimer('timeLimit', number);
  if (spec.openMs !== undefined) env.clearTimer('open', number);
  if (estimate.isUndecided) env.clearTimer('weigh', number);
}
