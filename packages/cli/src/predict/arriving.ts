import type { ArrivingJob } from '@goshawk/predictor';
import { meanOf, type PastJob, type TraceJob } from '@goshawk/traces';

/**
 * What an estimator is told of a job of a trace; the truth included, for those that are about it.
 *
 * @param submittedAt ms, on the clock of all that it is told of
 */
export function arrivingJobOf(job: TraceJob, submittedAt = job.submitSeconds * 1_000): ArrivingJob {
  const tasks = job.durationsSeconds.length;
  return {
    name: job.name ?? 'job',
    logicalName: job.logicalName,
    user: job.user,
    demand: job.demand,
    schedulingClass: job.schedulingClass,
    tasks,
    startable: tasks,
    submittedAt,
    // What stands in the trace: the submitter's estimate, or else the mean that the trace states.
    givenMs: (job.estimateSeconds ?? job.meanSeconds) * 1_000,
    trueMeanMs: meanOf(job.durationsSeconds) * 1_000,
  };
}

/** The same of a job of the past. */
export function pastArrivingOf(job: PastJob, submittedAt: number): ArrivingJob {
  return {
    name: job.name ?? 'job',
    logicalName: job.logicalName,
    user: job.user,
    schedulingClass: job.schedulingClass,
    tasks: job.tasks,
    startable: job.tasks,
    submittedAt,
  };
}
