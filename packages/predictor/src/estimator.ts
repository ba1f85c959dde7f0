import type { Millis, Resources, Segment } from '@goshawk/core';

export type { Segment };

/**
 * The contract of run-time estimators. One is asked when a job arrives; it answers with an estimate, or with how
 * many of the job's tasks should run first, as pilots, to find out; it weighs what they show; and it learns from
 * each job that ends. It is deterministic: the same calls and the same random numbers give the same answers.
 *
 * Who asks takes no harm from one that misbehaves: see `Guarded`.
 */
export interface Estimator {
  /** As it is asked for, argument included: `noisy:0.1-1.9`. */
  readonly name: string;
  /** Upper bound of the JSON of `save`, however many jobs the estimator has learned from. */
  readonly savedCharactersMax: number;
  /** Judges an arriving job. */
  judge(job: ArrivingJob): Judgement;
  /**
   * Weighs the evidence of the pilots. Called after each start and end of a pilot, and at the time that the
   * last verdict gave, until it decides; each job is decided once. Provisional decisions are revised after
   * each further pilot, for the estimate only.
   * @param judgement of this job, by the same estimator
   * @param cutoffMs mean task run time at which a job is long
   */
  weigh(job: ArrivingJob, judgement: SamplePlan, evidence: Evidence, cutoffMs: Millis): Verdict;
  /** A job has ended, decided upon or not. */
  learn(ended: EndedJob): void;
  /** All that it has learnt, as a value that JSON can hold. */
  save(): unknown;
  /**
   * Goes on where another one has stopped.
   *
   * @throws InputError when that is not from the estimator this kind of estimator
   */
  load(saved: unknown): void;
}

/** Facts about an arriving job. */
export interface ArrivingJob {
  readonly name: string;
  /** Stays the same from one run of a recurring job to the next. */
  readonly logicalName?: string | undefined;
  readonly user?: string | undefined;
  readonly tasks: number;
  /** Tasks that may start at once: those of stages that wait for no other. Pilots are drawn from them. */
  readonly startable: number;
  /** Demand of each task, if all are equal. */
  readonly demand?: Resources | undefined;
  /** Stages of a job that has several, in an order in which they can run. */
  readonly stages?: readonly ArrivingStage[] | undefined;
  /** The name of the stage that this stands for, where stages are looked at one by one. */
  readonly stage?: string | undefined;
  /** Google's: 0 for what nobody waits for, up to 3 for what serves users. */
  readonly schedulingClass?: number | undefined;
  /** Wall clock, ms since 1970; in a replay the time of the trace. */
  readonly submittedAt: Millis;
  /** Mean task run time as the submitter believes it. */
  readonly givenMs?: Millis | undefined;
  /** The true mean task run time; known in replays only. */
  readonly trueMeanMs?: Millis | undefined;
}

export interface ArrivingStage {
  readonly name: string;
  readonly tasks: number;
  /** It waits for no other. */
  readonly startable: boolean;
  readonly demand?: Resources | undefined;
  /** The true mean run time of its tasks; known in replays only. */
  readonly trueMeanMs?: Millis | undefined;
}

export interface Estimate {
  /** Mean run time of the job's tasks. */
  readonly meanMs: Millis;
  /** Variance of that belief, where it is known: of the mean, not of single tasks. ms² */
  readonly varianceMs2?: number | undefined;
  /** Basis of the estimate, as `job` and `why` show it: `given`, `3 pilots`. */
  readonly by: string;
  /** The distribution of run times, if it is known. */
  readonly distribution?: readonly Segment[] | undefined;
  /** Mean run time of each stage's tasks, if stages are distinguished. */
  readonly stagesMs?: readonly Millis[] | undefined;
}

/** A sample is to be taken: the job is neither short nor long before its pilots tell. */
export interface SamplePlan {
  readonly kind: 'sample';
  /** 1 … the job's startable tasks; which of them is drawn by who asks. */
  readonly pilots: number;
  /** Provisional estimate, for decisions by size but not by class. */
  readonly guess?: Estimate | undefined;
  /** The estimator's own, given back with the job; a value that JSON can hold. */
  readonly note?: unknown;
}

export type Judgement =
  | { readonly kind: 'estimate'; readonly estimate: Estimate; readonly note?: unknown }
  | SamplePlan
  /** Too few tasks for a sample: short, ahead of what waits (SLearn §5.1.2). */
  | { readonly kind: 'thin'; readonly guess?: Estimate | undefined; readonly note?: unknown }
  /** Nothing is known: short. */
  | { readonly kind: 'unknown'; readonly note?: unknown };

/** Results of a job's pilots so far. */
export interface Evidence {
  readonly pilots: number;
  /** The stage that they are of; 0 unless given. */
  readonly stage?: number;
  /** Run times of the pilots that completed. ms */
  readonly runsMs: readonly Millis[];
  /** Run times of attempts that failed by their own fault. ms */
  readonly failedRunsMs: readonly Millis[];
  /** Pilots that have failed or were cancelled for good. */
  readonly failed: number;
  /** For how long those that run have run. ms */
  readonly elapsedMs: readonly Millis[];
}

export type Verdict =
  /** Too early. The answer may be another one after so long, though no pilot has ended; Infinity: it will not. */
  | { readonly kind: 'wait'; readonly againInMs: Millis }
  | {
      readonly kind: 'decided';
      readonly estimate: Estimate;
      /** The job is long for sure, but how long its tasks run will be seen when more pilots have ended. */
      readonly provisional?: true;
    };

export interface EndedJob {
  readonly job: ArrivingJob;
  readonly judgement: Judgement;
  /** All its tasks completed. */
  readonly completed: boolean;
  /** The mean run time of its tasks reached the cutoff. */
  readonly long: boolean;
  /** Time from submission to the end of the last task. */
  readonly runtimeMs: Millis;
  /** Run times of the tasks that completed. ms */
  readonly runsMs: ArrayLike<Millis>;
}
