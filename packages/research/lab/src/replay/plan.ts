import type { WorkloadFacts } from '@goshawk/command/policy';
import { type JobInput, type JobSpec, type Millis, meanOf, sumOf } from '@goshawk/core';
import type { Workload as WorkloadRecord } from '@goshawk/report';
import {
  type Jobs,
  jobInputOf,
  jobSpecOf,
  type PreparedPrototype,
  packed,
  preparePrototype,
  type TraceJob,
  type Workload,
  withoutGangs,
} from '@goshawk/traces';
import type { WorkloadNeeds } from '../simulate/capacity.js';
import { survey } from '../simulate/survey.js';
import { type AsSubmitted, jobSeed, submissionEstimates } from './estimates.js';

/** A job of a replay that is ready to be submitted. */
export interface PlannedJob {
  /** Time since the start of the replay. */
  readonly submitMs: Millis;
  readonly tasks: number;
  /** The job as executed, with scaled times. */
  readonly job: TraceJob;
  /** Sum of the run times of its tasks. */
  readonly taskMs: Millis;
  readonly trueMeanMs: Millis;
  /** Estimate for the cluster; undefined: none. */
  readonly estimateMs: Millis | undefined;
  readonly spec: JobSpec;
  /** The job in the form that the client submits. */
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
  /** Approximate duration of the run. */
  readonly forMs: Millis | undefined;
  /** Name of the estimator. */
  readonly estimator: string;
  /** Whether the policy starts gangs; otherwise their tasks start one by one. Default: true. */
  readonly startsGangs?: boolean;
}

/** A workload fitted to a cluster: every policy gets the same jobs at the same times. */
export interface ReplayPlan {
  /** The workload as executed. */
  readonly workload: WorkloadRecord;
  readonly jobs: readonly PlannedJob[];
  /** Facts of the executed jobs that settings depend on: the percentile, and the distribution of work. */
  readonly facts: WorkloadFacts;
  readonly needs: WorkloadNeeds;
  readonly fit: Omit<PreparedPrototype, 'jobs'>;
}

/**
 * Draws, scales and times the jobs as Hawk does for its prototype (§4.10), and turns their tasks into sleeps.
 *
 * @throws WorkloadError if the workload has nothing to run
 */
export async function planReplay(
  workload: Pick<Workload, 'name' | 'sha256'>,
  jobs: Jobs,
  options: PlanOptions,
): Promise<ReplayPlan> {
  const { workers, slots, load, seed, scale, forMs, estimator, startsGangs = true } = options;
  const { jobs: prepared, ...fit } = await preparePrototype(jobs, {
    workers,
    slots,
    jobs: options.jobs,
    load,
    seed,
    scale,
    forSeconds: forMs === undefined ? undefined : forMs / 1_000,
  });
  const replayed = startsGangs ? prepared : prepared.map(withoutGangs);
  const submit = submissionEstimates(estimator, seed);
  const planned = replayed.map((job, index) => planJob(job, index, submit, seed));
  const { record, facts, needs } = await survey({ ...workload, tallied: [] }, [packed(replayed)]);
  return { workload: record, jobs: planned, facts: { ...facts, divisor: fit.divisor }, needs, fit };
}

function planJob(job: TraceJob, index: number, submit: AsSubmitted, seed: number): PlannedJob {
  const taskMs = sumOf(job.durationsSeconds) * 1_000;
  const tasks = job.durationsSeconds.length;
  const { job: submitted, estimateMs } = submit({ name: `replay ${index + 1}`, ...job });
  const spec = jobSpecOf(submitted, estimateMs, jobSeed(seed, index));
  return {
    submitMs: job.submitSeconds * 1_000,
    tasks,
    job,
    taskMs,
    // The mean is computed as elsewhere, so that a job at the cutoff has the same class everywhere.
    trueMeanMs: meanOf(job.durationsSeconds) * 1_000,
    estimateMs,
    spec,
    input: jobInputOf(spec),
  };
}
