import type { Millis, Resources, Segment } from '@goshawk/core';

export type { Segment };

/**
 * The contract of run-time estimators. For each arriving job an estimator returns an estimate, or the number of tasks to
 * run first as pilots. It then decides from the pilots' run times, and learns from each job that ends. It must be
 * deterministic: the same calls and random numbers give the same answers.
 *
 * `Guarded` protects callers from faulty estimators.
 */
export interface Estimator {
  /** Name with its argument: `noisy:0.1-1.9`. */
  readonly name: string;
  /** Upper bound of the JSON of `save`, regardless of the number of jobs. */
  readonly savedCharactersMax: number;
  /** Returns what is known about an arriving job: an estimate, a number of pilots, or nothing. */
  predict(job: ArrivingJob): Prediction;
  /**
   * Returns a decision about a job from its pilots so far, or requests to wait. Called after each start and end of a pilot, and at the time that the last verdict requested, until it decides. A decision is final unless it is provisional: further pilots then improve its estimate.
   *
   * @param prediction the result of `predict` for this job
   * @param cutoffMs mean task run time at which a job is long
   */
  weigh(job: ArrivingJob, prediction: SamplePlan, evidence: Evidence, cutoffMs: Millis): Verdict;
  /** Learns from a job that has ended, with or without a decision. */
  learn(ended: EndedJob): void;
  /** Returns everything learned, as a JSON value. */
  save(): unknown;
  /**
   * Continues from saved state.
   *
   * @throws InputError if the state is not from this kind of estimator
   */
  load(saved: unknown): void;
}

/** Facts about an arriving job. */
export interface ArrivingJob {
  readonly name: string;
  /** Name shared by all runs of a recurring job. */
  readonly logicalName?: string | undefined;
  readonly user?: string | undefined;
  readonly tasks: number;
  /** Number of tasks in stages without predecessors, from which pilots are drawn. */
  readonly startable: number;
  /** Demand of each task, if all are equal. */
  readonly demand?: Resources | undefined;
  /** Stages of a job that has several, in topological order. */
  readonly stages?: readonly ArrivingStage[] | undefined;
  /** The name of the stage, if this describes one stage as a job. */
  readonly stage?: string | undefined;
  /** Google's scheduling class: from 0, not latency-sensitive, to 3, user-facing. */
  readonly schedulingClass?: number | undefined;
  /** Wall clock, ms since 1970; in a replay the time of the trace. */
  readonly submittedAt: Millis;
  /** The submitter's estimate of the mean task run time. */
  readonly givenMs?: Millis | undefined;
  /** The true mean task run time; known in replays only. */
  readonly trueMeanMs?: Millis | undefined;
  /** Default: false. */
  readonly hasDeadline?: boolean | undefined;
}

export interface ArrivingStage {
  readonly name: string;
  readonly tasks: number;
  /** Whether the stage has no predecessors. */
  readonly startable: boolean;
  readonly demand?: Resources | undefined;
  /** The true mean run time of its tasks; known in replays only. */
  readonly trueMeanMs?: Millis | undefined;
}

export interface Estimate {
  /** Mean run time of the job's tasks. */
  readonly meanMs: Millis;
  /** Variance in ms² of this estimate of the mean (not of single tasks), if known. */
  readonly varianceMs2?: number | undefined;
  /** Source of the estimate, as `goshawk job` and `why` show it: `given`, `3 pilots`. */
  readonly by: string;
  /** The distribution of run times, if it is known. */
  readonly distribution?: readonly Segment[] | undefined;
  /** Mean run time of each stage's tasks, if stages are distinguished. */
  readonly stagesMs?: readonly Millis[] | undefined;
}

/** Requests pilots. The class of the job is unknown until they have run. */
export interface SamplePlan {
  readonly kind: 'sample';
  /** Number of pilots, 1 … the job's startable tasks; the caller draws them. */
  readonly pilots: number;
  /** Provisional estimate, for decisions by size but not by class. */
  readonly guess?: Estimate | undefined;
  /** State of the estimator for this job, which the caller passes back; a JSON value. */
  readonly note?: unknown;
}

export type Prediction =
  | { readonly kind: 'estimate'; readonly estimate: Estimate; readonly note?: unknown }
  | SamplePlan
  /** The job has too few tasks to sample, so it counts as short and is served first (SLearn §5.1.2). */
  | { readonly kind: 'thin'; readonly guess?: Estimate | undefined; readonly note?: unknown }
  /** The job has no estimate and no pilots, so it counts as short. */
  | { readonly kind: 'unknown'; readonly note?: unknown };

/** Results of a job's pilots so far. */
export interface Evidence {
  readonly pilots: number;
  /** Stage of the pilots; default: 0. */
  readonly stage?: number;
  /** Run times in ms of the pilots that completed. */
  readonly runsMs: readonly Millis[];
  /** Run times in ms of attempts that failed by their own fault. */
  readonly failedRunsMs: readonly Millis[];
  /** Number of pilots that failed permanently or were cancelled. */
  readonly failed: number;
  /** Times in ms for which the running pilots have run. */
  readonly elapsedMs: readonly Millis[];
}

export type Verdict =
  /** No decision yet. Call again after this time even if no pilot has ended by then; `Infinity`: only when a pilot ends. */
  | { readonly kind: 'wait'; readonly againInMs: Millis }
  | {
      readonly kind: 'decided';
      readonly estimate: Estimate;
      /** The class is final (long), but the estimate will change when more pilots have ended. */
      readonly provisional?: true;
    };

export interface EndedJob {
  readonly job: ArrivingJob;
  readonly prediction: Prediction;
  /** All its tasks completed. */
  readonly completed: boolean;
  /** Whether the mean run time of its tasks reached the cutoff. */
  readonly long: boolean;
  /** Time from submission to the end of the last task. */
  readonly runtimeMs: Millis;
  /** Run times of the completed tasks. ms */
  readonly runsMs: ArrayLike<Millis>;
}
