import type { WorkloadFacts } from '@goshawk/cli';
import { type JobInput, type Millis, nearestRank, sumOf } from '@goshawk/core';
import type { Workload as WorkloadRecord } from '@goshawk/report';
import {
  type Jobs,
  jobInputOf,
  jobSpecOf,
  type PreparedPrototype,
  preparePrototype,
  type TraceJob,
  type Workload,
} from '@goshawk/traces';
import { type AsSubmitted, jobSeed, submissionEstimates } from './estimates.js';

/** A job of a replay, ready to be sent. */
export interface PlannedJob {
  /** Counted from the first instant of the replay. */
  readonly submitMs: Millis;
  readonly tasks: number;
  /** As it is run, with the times that it has then. */
  readonly job: TraceJob;
  /** Sum of the run times of its tasks. */
  readonly taskMs: Millis;
  readonly trueMeanMs: Millis;
  /** What the cluster is told; undefined: nothing. */
  readonly estimateMs: Millis | undefined;
  readonly input: JobInput;
}

export interface PlanOptions {
  readonly workers: number;
  readonly slots: number;
  /** Jobs drawn from the workload. */
  readonly jobs: number;
  readonly load: number;
  readonly seed: number;
  /** Divides all durations; exclusive of `forMs`. */
  readonly scale: number | undefined;
  /** The run is to take about so long. */
  readonly forMs: Millis | undefined;
  /** By its name. */
  readonly estimator: string;
}

/** A workload fitted to a cluster: the same jobs at the same times for each policy. */
export interface ReplayPlan {
  /** As it is run. */
  readonly workload: WorkloadRecord;
  readonly jobs: readonly PlannedJob[];
  readonly facts: WorkloadFacts;
  readonly fit: Omit<PreparedPrototype, 'jobs'>;
}

/**
 * Draws, scales and times the jobs as Hawk does for its prototype (§4.10), and writes them as sleeps.
 *
 * @throws WorkloadError when there is nothing to run in it
 */
export async function planReplay(
  workload: Pick<Workload, 'name' | 'sha256'>,
  jobs: Jobs,
  options: PlanOptions,
): Promise<ReplayPlan> {
  const { workers, slots, load, seed, scale, forMs, estimator } = options;
  const { jobs: replayed, ...fit } = await preparePrototype(jobs, {
    workers,
    slots,
    jobs: options.jobs,
    load,
    seed,
    scale,
    forSeconds: forMs === undefined ? undefined : forMs / 1_000,
  });
  const submit = submissionEstimates(estimator, seed);
  const planned = replayed.map((job, index) => planJob(job, index, submit, seed));
  return {
    workload: {
      name: workload.name,
      sha256: await workload.sha256(),
      jobs: planned.length,
      tasks: fit.tasks,
      taskSeconds: fit.taskMs / 1_000,
      spanSeconds: (planned.at(-1)!.submitMs - planned[0]!.submitMs) / 1_000,
    },
    jobs: planned,
    facts: factsOf(planned, fit.divisor),
    fit,
  };
}

function planJob(job: TraceJob, index: number, submit: AsSubmitted, seed: number): PlannedJob {
  const taskMs = sumOf(job.durationsSeconds) * 1_000;
  const tasks = job.durationsSeconds.length;
  const { job: submitted, estimateMs } = submit({ name: `replay ${index + 1}`, ...job });
  return {
    submitMs: job.submitSeconds * 1_000,
    tasks,
    job,
    taskMs,
    trueMeanMs: taskMs / tasks,
    estimateMs,
    input: jobInputOf(jobSpecOf(submitted, estimateMs, jobSeed(seed, index))),
  };
}

/** What settings take from the jobs as they are run: the percentile, and how the work is shared. */
export function factsOf(jobs: readonly PlannedJob[], divisor: number): WorkloadFacts {
  const means = Float64Array.from(jobs, (job) => job.trueMeanMs).sort();
  const taskMs = sumOf(jobs, (job) => job.taskMs);
  return {
    divisor,
    meanP90Ms: nearestRank(means, 90),
    shareBelow: (cutoffMs) => sumOf(jobs, (job) => (job.trueMeanMs < cutoffMs ? job.taskMs : 0)) / taskMs,
  };
}
