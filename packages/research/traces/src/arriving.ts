import { meanOf } from '@goshawk/core';
import type { ArrivingJob } from '@goshawk/predictor';
import type { TraceJob } from './job.js';

/**
 * Converts a trace job for estimators, including the truth for those that use it.
 * @param submittedAt ms, on one clock for all jobs
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
    startable: startableOf(job),
    stages: stagesOf(job),
    submittedAt,
    // The submitter’s estimate, or the mean in the trace.
    givenMs: (job.estimateSeconds ?? job.meanSeconds) * 1_000,
    trueMeanMs: meanOf(job.durationsSeconds) * 1_000,
  };
}

/** Returns the number of tasks of the largest stage without predecessors. */
function startableOf({ stages, durationsSeconds }: TraceJob): number {
  if (stages === undefined) return durationsSeconds.length;
  return Math.max(...stages.map(({ after, tasks }) => (after.length === 0 ? tasks : 0)));
}

function stagesOf({ stages, durationsSeconds, demand: ofJob }: TraceJob): ArrivingJob['stages'] {
  if (stages === undefined || stages.length === 1) return undefined;
  let first = 0;
  return stages.map(({ name, after, tasks, demand }) => {
    const own = durationsSeconds.subarray(first, first + tasks);
    first += tasks;
    return {
      name,
      tasks,
      startable: after.length === 0,
      demand: demand ?? ofJob,
      trueMeanMs: meanOf(own) * 1_000,
    };
  });
}
