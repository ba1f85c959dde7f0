import type { WorkloadFacts } from '@goshawk/command/policy';
import { DEFAULT_POLICY, JobLengths, nearestRank, sumOf } from '@goshawk/core';
import type { Workload as WorkloadRecord } from '@goshawk/report';
import {
  cpuSecondsOf,
  type JobBatches,
  joined,
  type PackedJobs,
  packedBytes,
  type Tallied,
  type Workload,
  WorkloadError,
} from '@goshawk/traces';
import { WorkloadNeeds } from './capacity.js';

/** Facts that must be known about a workload before it can run. */
export interface Survey {
  readonly record: WorkloadRecord;
  readonly facts: WorkloadFacts;
  readonly firstSubmitSeconds: number;
  /** Run times of all tasks, each multiplied by its CPUs. */
  readonly cpuSeconds: number;
  readonly needs: WorkloadNeeds;
  /** Omissions and changes while reading the file. */
  readonly tallied: readonly Tallied[];
  /**
   * Returns the number of jobs submitted within an interval since the first submission, both ends included.
   */
  countWithin(fromSeconds: number, toSeconds: number): number;
  /** All jobs, if they fit into memory, so that they are read only once. */
  readonly packed: PackedJobs | undefined;
}

/** Larger workloads are read, or drawn, again for each run. */
const PACKED_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Reads a workload once.
 *
 * @throws WorkloadError if it is empty; the signal's reason
 */
export async function survey(
  workload: Pick<Workload, 'name' | 'sha256' | 'tallied'>,
  batches: JobBatches,
  signal?: AbortSignal,
): Promise<Survey> {
  const means: number[] = [];
  const taskSeconds: number[] = [];
  const submits: number[] = [];
  const needs = new WorkloadNeeds();
  let kept: PackedJobs[] | undefined = [];
  let keptBytes = 0;
  let tasks = 0;
  let cpuSeconds = 0;
  for await (const batch of batches) {
    const { durationsSeconds, ends, submitSeconds } = batch;
    for (let place = 0, start = 0; place < ends.length; place++) {
      const end = ends[place]!;
      const more = batch.more.get(place);
      needs.add(more, end - start, submits.length + 1);
      const own = durationsSeconds.subarray(start, end);
      const ofJob = sumOf(own);
      means.push(ofJob / (end - start));
      taskSeconds.push(ofJob);
      cpuSeconds += more === undefined ? ofJob : cpuSecondsOf({ ...more, durationsSeconds: own });
      submits.push(submitSeconds[place]!);
      start = end;
    }
    tasks += durationsSeconds.length;
    kept?.push(batch);
    keptBytes += packedBytes(batch);
    // A workload in one batch is in memory already.
    if (keptBytes > PACKED_BYTES_MAX && kept !== undefined && kept.length > 1) kept = undefined;
  }
  if (means.length === 0) throw new WorkloadError('the workload has no jobs', 'use another workload');
  const first = submits[0]!;
  const total = sumOf(taskSeconds);
  return {
    record: {
      name: workload.name,
      sha256: await workload.sha256(signal),
      jobs: means.length,
      tasks,
      taskSeconds: total,
      spanSeconds: submits.at(-1)! - first,
      ...(workload.tallied.length === 0 ? {} : { tallied: workload.tallied }),
    },
    facts: {
      divisor: 1,
      meanP90Ms: nearestRank(Float64Array.from(means).sort(), 90) * 1_000,
      learnedCutoffMs: () => learnedCutoff(means, taskSeconds),
      shareBelow: (cutoffMs) => shareBelow(cutoffMs, means, taskSeconds, total),
    },
    firstSubmitSeconds: first,
    cpuSeconds,
    needs,
    tallied: workload.tallied,
    countWithin: (from, to) => sumOf(submits, (at) => (at - first >= from && at - first <= to ? 1 : 0)),
    packed: kept === undefined ? undefined : joined(kept),
  };
}

/** Returns the cutoff that a live cluster with the default cutoff learns from these jobs at their end. ms */
function learnedCutoff(means: readonly number[], taskSeconds: readonly number[]): number {
  const lengths = new JobLengths();
  means.forEach((mean, i) => void lengths.record(1_000 * mean, 1_000 * taskSeconds[i]!));
  return lengths.cutoffMs(DEFAULT_POLICY.cutoffMs);
}

/** Returns the share of the work in jobs below a cutoff, or none without any work. */
function shareBelow(
  cutoffMs: number,
  means: readonly number[],
  taskSeconds: readonly number[],
  total: number,
): number {
  if (total === 0) return 0;
  return sumOf(taskSeconds, (each, i) => (means[i]! * 1_000 < cutoffMs ? each : 0)) / total;
}
