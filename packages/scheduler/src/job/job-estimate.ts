import type { Millis, Segment } from '@goshawk/core';
import type { Estimate, Prediction } from '@goshawk/predictor';
import type { Stage } from './batch.js';
import type { Decision } from './classify.js';
import type { Sample } from './sample.js';

/** Holds what the estimator and the pilots say about a job, and the class that follows. */
export class JobEstimate {
  /** Prediction at arrival, or at a restart of the owner. */
  prediction: Prediction;
  #decision: Decision;
  /** The pilots, which run first to determine its class; undefined: it has none. */
  sample: Sample | undefined;
  /** Whether the estimator has learned from the job. */
  isLearned = false;

  constructor(prediction: Prediction, decision: Decision) {
    this.prediction = prediction;
    this.#decision = decision;
  }

  get decision(): Decision {
    return this.#decision;
  }

  /** Reason for the class, as `goshawk job` and `goshawk why` show it. */
  get classifiedBy(): string {
    return this.#decision.by;
  }

  /** Estimated mean run time of the tasks; undefined: unknown. */
  get meanMs(): Millis | undefined {
    return this.#decision.estimateMs;
  }

  /** Estimated or guessed mean run time of the tasks; undefined: unknown. */
  get guessMs(): Millis | undefined {
    return this.#decision.estimateMs ?? this.#decision.guessMs;
  }

  /** Estimates by stage, if the estimator distinguishes stages. */
  get stagesMs(): readonly Millis[] | undefined {
    return this.#decision.stagesMs;
  }

  /** Distribution of run times, if the estimator provides one. */
  get distribution(): readonly Segment[] | undefined {
    return this.#decision.distribution;
  }

  /** Estimate for the stage: the estimator's, else the submitter's. undefined: the estimate of the job applies. */
  ofStage({ index, spec }: Pick<Stage, 'index' | 'spec'>): Millis | undefined {
    return this.#decision.stagesMs?.[index] ?? spec.estimateMs;
  }

  /** Whether the pilots have not determined the class yet. */
  get isUndecided(): boolean {
    return this.sample?.state === 'running';
  }

  /** Whether pilots still run. A job that their elapsed time proves to be long has only a lower bound as its estimate. */
  get isLowerBound(): boolean {
    return this.sample?.state === 'refining';
  }

  /** Estimated mean run time for people and forecasts; undefined: unknown, or only a lower bound. @param stage default: of all tasks */
  statedMs(stage?: Pick<Stage, 'index' | 'spec'>): Millis | undefined {
    if (this.isLowerBound) return undefined;
    return (stage === undefined ? undefined : this.ofStage(stage)) ?? this.meanMs;
  }

  /** Sets the class that the pilots or the guess determined. */
  decide(decision: Decision): void {
    this.#decision = decision;
  }

  /** Restores the classification of an earlier incarnation of the owner. */
  restore(decision: Partial<Decision>): void {
    this.#decision = { ...this.#decision, ...decision };
  }

  /** Sets the final estimate of a job that was classified as long before all pilots ended. */
  refine({ meanMs: estimateMs, stagesMs = this.stagesMs }: Estimate): void {
    this.sample!.state = 'decided';
    this.#decision = { ...this.#decision, estimateMs, stagesMs };
  }
}
