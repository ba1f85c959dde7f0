import { nearestRank } from '@goshawk/core';
import type { Workload as WorkloadRecord } from '@goshawk/report';
import { type Jobs, type TraceJob, type Workload, WorkloadError } from '@goshawk/traces';
import type { WorkloadFacts } from '../settings.js';

/** What has to be known of a workload before it can be run. */
export interface Survey {
  readonly record: WorkloadRecord;
  readonly facts: WorkloadFacts;
  readonly firstSubmitSeconds: number;
}

/**
 * Reads a workload once.
 *
 * @throws WorkloadError when there is nothing in it
 */
export async function survey(workload: Workload, jobs: Jobs): Promise<Survey> {
  const means: number[] = [];
  const taskSeconds: number[] = [];
  let tasks = 0;
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for await (const job of jobs) {
    const sum = sumOf(job);
    means.push(sum / job.durationsSeconds.length);
    taskSeconds.push(sum);
    tasks += job.durationsSeconds.length;
    first = Math.min(first, job.submitSeconds);
    last = Math.max(last, job.submitSeconds);
  }
  if (means.length === 0) throw new WorkloadError('the workload has no jobs', 'name another one');
  const total = taskSeconds.reduce((sum, seconds) => sum + seconds, 0);
  return {
    record: {
      name: workload.name,
      sha256: await workload.sha256(),
      jobs: means.length,
      tasks,
      taskSeconds: total,
      spanSeconds: last - first,
    },
    facts: {
      divisor: 1,
      meanP90Ms: nearestRank(Float64Array.from(means).sort(), 90) * 1_000,
      shareBelow: (cutoffMs) =>
        taskSeconds.reduce((sum, seconds, i) => sum + (means[i]! * 1_000 < cutoffMs ? seconds : 0), 0) /
        total,
    },
    firstSubmitSeconds: first,
  };
}

/** The true mean run time of the job's tasks. */
export function meanSeconds(job: TraceJob): number {
  return sumOf(job) / job.durationsSeconds.length;
}

function sumOf({ durationsSeconds }: TraceJob): number {
  let sum = 0;
  for (let i = 0; i < durationsSeconds.length; i++) sum += durationsSeconds[i]!;
  return sum;
}
