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
  /** What `save` gives, as JSON, is never longer, however many jobs it has learnt from. */
  readonly savedCharactersMax: number;
  /** What is believed of a job as it arrives. */
  judge(job: ArrivingJob): Judgement;
  /**
   * What its pilots say by now. Asked after each start and end of a pilot, and when the time has passed that the
   * last answer gave, until it decides; a job is decided upon once. What is decided for the time being is asked about
   * again after each end of a pilot, for the estimate only.
   *
   * @param judgement the estimator's own, of this job
   * @param cutoffMs a mean task run time that reaches this makes the job long
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

/** What may be known of a job when it arrives. */
export interface ArrivingJob {
  readonly name: string;
  /** Stays the same from one run of a recurring job to the next. */
  readonly logicalName?: string | undefined;
  readonly user?: string | undefined;
  readonly tasks: number;
  /** Tasks that may start at once: those of stages that wait for no other. Pilots are drawn from them. */
  readonly startable: number;
  /** What each of its tasks needs, where all need the same. */
  readonly demand?: Resources | undefined;
  /** Of a job of several stages: in an order in which they can run. */
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
  /** What it rests on, in the words that `job` and `why` show: `given`, `3 pilots`. */
  readonly by: string;
  /** How run times are spread, where that is known. */
  readonly distribution?: readonly Segment[] | undefined;
  /** Mean run time of each stage's tasks, where stages are told apart. */
  readonly stagesMs?: readonly Millis[] | undefined;
}

/** A sample is to be taken: the job is neither short nor long before its pilots tell. */
export interface SamplePlan {
  readonly kind: 'sample';
  /** 1 … the job's startable tasks; which of them is drawn by who asks. */
  readonly pilots: number;
  /** What to go by meanwhile, where size matters and class does not. */
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

/** What the pilots of a job have shown so far. */
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
  /** From its submission to the end of its last task. */
  readonly runtimeMs: Millis;
  /** Run times of the tasks that completed. ms */
  readonly runsMs: ArrayLike<Millis>;
}
