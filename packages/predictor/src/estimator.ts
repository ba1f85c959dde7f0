import type { Millis, Resources, Segment } from '@goshawk/core';

export type { Segment };

/**
 * The contract of run-time estimators. An estimator judges each arriving job: it returns an estimate, or the number
 * of tasks to run first as pilots. It then weighs the evidence of the pilots, and learns from each job that ends. It
 * is deterministic: equal calls and random numbers give equal answers.
 *
 * Callers are protected from faulty estimators by `Guarded`.
 */
export interface Estimator {
  /** Name with its argument: `noisy:0.1-1.9`. */
  readonly name: string;
  /** Upper bound of the JSON of `save`, regardless of the number of jobs. */
  readonly savedCharactersMax: number;
  /** Judges an arriving job. */
  judge(job: ArrivingJob): Judgement;
  /**
   * Weighs the evidence of the pilots. Called after each start and end of a pilot, and at the time that the last
   * verdict requested, until it decides; each job is decided once. Provisional decisions are revised after each
   * further pilot, for the estimate only.
   *
   * @param judgement of this job, by the same estimator
   * @param cutoffMs mean task run time at which a job is long
   */
  weigh(job: ArrivingJob, judgement: SamplePlan, evidence: Evidence, cutoffMs: Millis): Verdict;
  /** A job has ended, with or without a decision. */
  learn(ended: EndedJob): void;
  /** Everything learned, as a JSON value. */
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
  /** Variance of this estimate of the mean, if known; not of single tasks. ms² */
  readonly varianceMs2?: number | undefined;
  /** Basis of the estimate, as `job` and `why` show it: `given`, `3 pilots`. */
  readonly by: string;
  /** The distribution of run times, if it is known. */
  readonly distribution?: readonly Segment[] | undefined;
  /** Mean run time of each stage's tasks, if stages are distinguished. */
  readonly stagesMs?: readonly Millis[] | undefined;
}

/** The job must be sampled: its class is unknown until its pilots have run. */
export interface SamplePlan {
  readonly kind: 'sample';
  /** Number of pilots, 1 … the job's startable tasks; the caller draws them. */
  readonly pilots: number;
  /** Provisional estimate, for decisions by size but not by class. */
  readonly guess?: Estimate | undefined;
  /** State of the estimator for this job, which the caller passes back; a JSON value. */
  readonly note?: unknown;
}

export type Judgement =
  | { readonly kind: 'estimate'; readonly estimate: Estimate; readonly note?: unknown }
  | SamplePlan
  /** Too few tasks to sample: short, and served first (SLearn §5.1.2). */
  | { readonly kind: 'thin'; readonly guess?: Estimate | undefined; readonly note?: unknown }
  /** Nothing is known, so the job counts as short. */
  | { readonly kind: 'unknown'; readonly note?: unknown };

/** Results of a job's pilots so far. */
export interface Evidence {
  readonly pilots: number;
  /** Stage of the pilots; default: 0. */
  readonly stage?: number;
  /** Run times of the pilots that completed. ms */
  readonly runsMs: readonly Millis[];
  /** Run times of attempts that failed by their own fault. ms */
  readonly failedRunsMs: readonly Millis[];
  /** Number of pilots that failed permanently or were cancelled. */
  readonly failed: number;
  /** How long the running pilots have run. ms */
  readonly elapsedMs: readonly Millis[];
}

export type Verdict =
  /** No decision yet. Ask again after this time even if no pilot has ended; Infinity: only then. */
  | { readonly kind: 'wait'; readonly againInMs: Millis }
  | {
      readonly kind: 'decided';
      readonly estimate: Estimate;
      /** The job is certainly long, but its estimate follows when more pilots have ended. */
      readonly provisional?: true;
    };

export interface EndedJob {
  readonly job: ArrivingJob;
  readonly judgement: Judgement;
  /** All its tasks completed. */
  readonly completed: boolean;
  /** Whether the mean run time of its tasks reached the cutoff. */
  readonly long: boolean;
  /** Time from submission to the end of the last task. */
  readonly runtimeMs: Millis;
  /** Run times of the completed tasks. ms */
  readonly runsMs: ArrayLike<Millis>;
}
