import { nearestRank } from '@goshawk/core';
import type { Workload as WorkloadRecord } from '@goshawk/report';
import { type Jobs, sum, type Workload, WorkloadError } from '@goshawk/traces';
import type { WorkloadFacts } from '../settings.js';
import { LargestDemands } from './capacity.js';

/** What has to be known of a workload before it can be run. */
export interface Survey {
  readonly record: WorkloadRecord;
  readonly facts: WorkloadFacts;
  readonly firstSubmitSeconds: number;
  readonly demands: LargestDemands;
}

/**
 * Reads a workload once.
 *
 * @throws WorkloadError when there is nothing in it
 */
export async function survey(workload: Workload, jobs: Jobs): Promise<Survey> {
  const means: number[] = [];
  const taskSeconds: number[] = [];
  const demands = new LargestDemands();
  let tasks = 0;
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for await (const job of jobs) {
    const ofJob = sum(job.durationsSeconds);
    means.push(ofJob / job.durationsSeconds.length);
    taskSeconds.push(ofJob);
    demands.add(job, means.length);
    tasks += job.durationsSeconds.length;
    first = Math.min(first, job.submitSeconds);
    last = Math.max(last, job.submitSeconds);
  }
  if (means.length === 0) throw new WorkloadError('the workload has no jobs', 'name another one');
  const total = taskSeconds.reduce((all, seconds) => all + seconds, 0);
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
        taskSeconds.reduce((all, seconds, i) => all + (means[i]! * 1_000 < cutoffMs ? seconds : 0), 0) /
        total,
    },
    firstSubmitSeconds: first,
    demands,
  };
}
