import type { Amounts } from './amounts.js';

/** A stage as a plan sees it. Stages are named by their places in a list. */
interface PlannedStage {
  /** Tasks that have not started. */
  readonly unstarted: number;
  /** Of each task, by resource. */
  readonly demand: Amounts;
  /** Of each task. Whole ms, at least 1. */
  readonly durationMs: number;
  /** Stages that must end before. */
  readonly parents: readonly number[];
}

interface PlannedRun {
  readonly stage: number;
  /** From now until its end. Whole ms, at least 1. */
  readonly remainingMs: number;
}

/** One job, now: time 0 of the plan. */
export interface PlanProblem {
  readonly stages: readonly PlannedStage[];
  readonly running: readonly PlannedRun[];
  /** What the job may use at any time, by resource. */
  readonly share: Amounts;
  /** What there is in all, by resource. */
  readonly whole: Amounts;
}
