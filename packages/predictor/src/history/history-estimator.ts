import type { ArrivingJob, Estimate, Judgement } from '../estimator.js';
import type { EstimatorSettings } from '../settings.js';
import { BY_STAGE, estimateOfStages } from '../stages.js';
import { FromHistory } from './from-history.js';
import type { HistoryPrediction } from './history.js';

/** What jobs like it have taken, at once and without running anything (3σPredict). */
export class HistoryEstimator extends FromHistory {
  readonly #withDistribution: boolean;

  /** @throws InputError for a feature that there is not */
  constructor(settings: EstimatorSettings) {
    super('history', settings);
    this.#withDistribution = settings.distributions ?? false;
  }

  judge(job: ArrivingJob): Judgement {
    const stages = this.predictStages(job);
    if (stages !== undefined) {
      if (stages.every(({ samples }) => samples === 0)) return { kind: 'unknown' };
      const stagesMs = stages.map(({ estimateMs }) => estimateMs);
      return { kind: 'estimate', estimate: estimateOfStages(job, stagesMs, BY_STAGE) };
    }
    const prediction = this.predict(job);
    return prediction.samples === 0
      ? { kind: 'unknown' }
      : { kind: 'estimate', estimate: estimateOf(prediction, this.#withDistribution) };
  }
}

/** Of a prediction that rests on a run at least. */
export function estimateOf(prediction: HistoryPrediction, withDistribution: boolean): Estimate {
  const { estimateMs, samples, expert, logVariance } = prediction;
  const runs = samples === 1 ? '1 run' : `${samples} runs`;
  // Of a lognormal with that variance of its logarithm.
  const varianceMs2 = estimateMs ** 2 * Math.expm1(logVariance);
  return {
    meanMs: estimateMs,
    by: expert === undefined ? `history: ${runs}` : `history: ${expert.guess} of ${expert.feature}, ${runs}`,
    ...(Number.isFinite(varianceMs2) ? { varianceMs2 } : {}),
    ...(withDistribution ? { distribution: prediction.distribution() } : {}),
  };
}
