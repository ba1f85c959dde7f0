import { nearestRank } from '@goshawk/core';
import type { Workload as WorkloadRecord } from '@goshawk/report';
import {
  type JobBatches,
  JobPacker,
  type PackedJobs,
  sum,
  type Tallied,
  type Workload,
  WorkloadError,
} from '@goshawk/traces';
import type { WorkloadFacts } from '../settings.js';
import { LargestDemands } from './capacity.js';

/** What has to be known of a workload before it can be run. */
export interface Survey {
  readonly record: WorkloadRecord;
  readonly facts: WorkloadFacts;
  readonly firstSubmitSeconds: number;
  readonly demands: LargestDemands;
  /** What of the file did not become jobs as it was. */
  readonly tallied: readonly Tallied[];
  /** How many jobs are submitted within a time, both ends included, that counts from the first submission. */
  countWithin(fromSeconds: number, toSeconds: number): number;
  /** All jobs, if they are not too many; so that nobody has to read them again. */
  readonly packed: PackedJobs | undefined;
}

/** Larger workloads are read again for each run. */
const PACKED_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Reads a workload once.
 *
 * @throws WorkloadError when there is nothing in it; the signal's reason
 */
export async function survey(workload: Workload, batches: JobBatches, signal?: AbortSignal): Promise<Survey> {
  const means: number[] = [];
  const taskSeconds: number[] = [];
  const submits: number[] = [];
  const demands = new LargestDemands();
  const packer = new JobPacker(PACKED_BYTES_MAX);
  let tasks = 0;
  for await (const batch of batches) {
    for (const job of batch) {
      const ofJob = sum(job.durationsSeconds);
      means.push(ofJob / job.durationsSeconds.length);
      taskSeconds.push(ofJob);
      submits.push(job.submitSeconds);
      demands.add(job, means.length);
      packer.add(job);
      tasks += job.durationsSeconds.length;
    }
  }
  if (means.length === 0) throw new WorkloadError('the workload has no jobs', 'name another one');
  const first = submits[0]!;
  const total = sum(taskSeconds);
  return {
    record: {
      name: workload.name,
      sha256: await workload.sha256(signal),
      jobs: means.length,
      tasks,
      taskSeconds: total,
      spanSeconds: submits.at(-1)! - first,
    },
    facts: {
      divisor: 1,
      meanP90Ms: nearestRank(Float64Array.from(means).sort(), 90) * 1_000,
      shareBelow: (cutoffMs) => shareBelow(cutoffMs, means, taskSeconds, total),
    },
    firstSubmitSeconds: first,
    demands,
    tallied: workload.tallied,
    countWithin: (from, to) =>
      submits.reduce((count, at) => count + (at - first >= from && at - first <= to ? 1 : 0), 0),
    packed: packer.finish(),
  };
}

/** The share of the work in jobs below a cutoff; none, where there is no work. */
function shareBelow(
  cutoffMs: number,
  means: readonly number[],
  taskSeconds: readonly number[],
  total: number,
): number {
  if (total === 0) return 0;
  return taskSeconds.reduce((all, each, i) => all + (means[i]! * 1_000 < cutoffMs ? each : 0), 0) / total;
}
