import type { ArrivingJob, EndedJob, Estimate, Estimator, Judgement, Verdict } from '../estimator.js';
import type { EstimatorSettings } from '../settings.js';
import { DEFAULT_HISTORY, History, type HistoryPrediction, type HistorySettings } from './history.js';
import { savedCharactersMax } from './saved.js';
import { spreadOf } from './spread.js';

/** What jobs like it have taken, at once and without running anything (3σPredict). */
export class HistoryEstimator implements Estimator {
  readonly name = 'history';
  readonly savedCharactersMax: number;
  readonly #settings: Partial<HistorySettings>;
  readonly #withDistribution: boolean;
  #history: History;

  /** @throws InputError for a feature that there is not */
  constructor(settings: EstimatorSettings) {
    this.#settings = historySettings(settings);
    this.#withDistribution = settings.distributions ?? false;
    this.#history = new History(this.#settings);
    this.savedCharactersMax = savedCharactersMax({ ...DEFAULT_HISTORY, ...this.#settings });
  }

  judge(job: ArrivingJob): Judgement {
    const prediction = this.#history.predict(job);
    return prediction.samples === 0
      ? { kind: 'unknown' }
      : { kind: 'estimate', estimate: estimateOf(prediction, this.#withDistribution) };
  }

  /** Asks for no pilots, so there is nothing to weigh. */
  weigh(): Verdict {
    return { kind: 'wait', againInMs: Number.POSITIVE_INFINITY };
  }

  learn(ended: EndedJob): void {
    learnFrom(this.#history, ended);
  }

  save(): unknown {
    return this.#history.save();
  }

  load(saved: unknown): void {
    this.#history = History.load(saved, this.#settings);
  }
}

export function historySettings({ features, featureValuesMax }: EstimatorSettings): Partial<HistorySettings> {
  return {
    ...(features == null ? {} : { features }),
    ...(featureValuesMax === undefined ? {} : { valuesMax: featureValuesMax }),
  };
}

/** A job that failed or was cancelled says nothing about how long such jobs run. */
export function learnFrom(history: History, { job, completed, runsMs }: EndedJob): void {
  const { length } = runsMs;
  if (!completed || length === 0) return;
  let sum = 0;
  for (let i = 0; i < length; i++) sum += runsMs[i]!;
  history.learn(job, sum / length, spreadOf(runsMs));
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
