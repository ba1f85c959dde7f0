import type { Millis } from '@goshawk/core';
import type { ArrivingJob, Judgement, Segment } from '../estimator.js';
import { FromHistory } from '../history/from-history.js';
import type { EstimatorSettings } from '../settings.js';
import { BY_STAGE, estimateOfStages } from '../stages.js';

/**
 * The baselines of SLearn that predict from history (SLearn §5.1.3): the feature that has told best says which past runs
 * are like this job, and a number is made of their distribution. A job like which none has run is taken for one of the
 * default run time (3σPredict, §4.1 of its paper, does not say).
 */
export class FromDistribution extends FromHistory {
  readonly #withDistribution: boolean;
  readonly #pointOf: (distribution: readonly Segment[]) => Millis;
  /** Jobs of fewer tasks go ahead of all others, whatever history says. */
  readonly #thinLimit: number;

  /** @throws InputError for a feature that there is not */
  constructor(
    name: string,
    settings: EstimatorSettings,
    pointOf: (distribution: readonly Segment[]) => Millis,
    thinLimit = 0,
  ) {
    super(name, settings);
    this.#withDistribution = settings.distributions ?? false;
    this.#pointOf = pointOf;
    this.#thinLimit = thinLimit;
  }

  judge(job: ArrivingJob): Judgement {
    if (job.tasks < this.#thinLimit) return { kind: 'thin' };
    const stagesMs = this.stagesMs(job);
    if (stagesMs !== undefined)
      return { kind: 'estimate', estimate: estimateOfStages(job, stagesMs, BY_STAGE) };
    const prediction = this.predict(job);
    const distribution = prediction.distribution();
    const { samples, expert } = prediction;
    const of = expert === undefined ? '' : ` of ${expert.feature}`;
    return {
      kind: 'estimate',
      estimate: {
        meanMs: this.#pointOf(distribution),
        by: samples === 0 ? 'no history' : `history${of}: ${samples === 1 ? '1 run' : `${samples} runs`}`,
        ...(this.#withDistribution ? { distribution } : {}),
      },
    };
  }

  /** Each stage by itself (3Sigma-DAG, SLearn §6); undefined for a job of one stage. */
  protected stagesMs(job: ArrivingJob): Millis[] | undefined {
    return this.predictStages(job)?.map((prediction) => this.#pointOf(prediction.distribution()));
  }
}
