import { type Millis, present, sumOf } from '@goshawk/core';
import type {
  ArrivingJob,
  EndedJob,
  Estimate,
  Estimator,
  Evidence,
  Prediction,
  SamplePlan,
  Segment,
  Verdict,
} from '../estimator.js';
import type { EstimatorSettings } from '../settings.js';
import { estimateOfStages, stagesAsJobs } from '../stages.js';
import { History, type HistoryPrediction, type HistorySettings } from './history.js';
import { spreadOf } from './spread.js';

/** Derives an estimate from the distribution of past runs, in a baseline of SLearn (§5.1.3). */
type PointOf = (distribution: readonly Segment[]) => Millis;

export type WithDistribution = NonNullable<EstimatorSettings['withDistribution']>;

export const never: WithDistribution = () => false;

/**
 * Estimates from similar jobs, without running pilots: by the best expert (3σPredict), or by `pointOf` of their
 * distribution. Jobs with stages are estimated per stage (3Sigma-DAG, SLearn §6). A baseline gives a job without similar
 * ones the default run time; 3σPredict §4.1 specifies none.
 */
export class HistoryEstimator implements Estimator {
  readonly name: string;
  readonly #settings: Partial<HistorySettings>;
  readonly #withDistribution: WithDistribution;
  readonly #pointOf: PointOf | undefined;
  readonly #thinLimit: number;
  #history: History;

  /**
   * @param pointOf estimate of a baseline; undefined for 3σPredict
   * @param thinLimit jobs with fewer tasks are served first, regardless of history
   * @throws InputError for an unknown feature
   */
  constructor(name: string, settings: EstimatorSettings, pointOf?: PointOf, thinLimit = 0) {
    this.name = name;
    this.#settings = historySettings(settings);
    this.#withDistribution = settings.withDistribution ?? never;
    this.#pointOf = pointOf;
    this.#thinLimit = thinLimit;
    this.#history = new History(this.#settings);
  }

  get savedCharactersMax(): number {
    return this.#history.savedCharactersMax;
  }

  predict(job: ArrivingJob): Prediction {
    if (job.tasks < this.#thinLimit) return { kind: 'thin' };
    const stages = stagesAsJobs(job);
    const predictions = (stages ?? [job]).map((each) => this.#history.predict(each));
    if (this.#pointOf === undefined && predictions.every(({ samples }) => samples === 0))
      return { kind: 'unknown' };
    const estimate =
      stages === undefined
        ? this.#estimateOf(job, predictions[0]!)
        : estimateOfStages(job, predictions.map(this.#msOf), 'history of each stage');
    return { kind: 'estimate', estimate };
  }

  /** Returns the estimate of each stage; undefined for a job with one stage. */
  protected stagesMs(job: ArrivingJob): Millis[] | undefined {
    return stagesAsJobs(job)?.map((stage) => this.#msOf(this.#history.predict(stage)));
  }

  readonly #msOf = (prediction: HistoryPrediction): Millis =>
    this.#pointOf === undefined ? prediction.estimateMs : this.#pointOf(prediction.distribution());

  #estimateOf(job: ArrivingJob, prediction: HistoryPrediction): Estimate {
    if (this.#pointOf === undefined) return expertsEstimate(job, prediction, this.#withDistribution);
    const { samples, expert } = prediction;
    const distribution = prediction.distribution();
    const of = expert === undefined ? '' : ` of ${expert.feature}`;
    const meanMs = this.#pointOf(distribution);
    return {
      meanMs,
      by: samples === 0 ? 'no history' : `history${of}: ${runsIn(samples)}`,
      ...(this.#withDistribution(job, meanMs) ? { distribution } : {}),
    };
  }

  /** Never requests pilots, so there is nothing to weigh. */
  weigh(_job: ArrivingJob, _plan: SamplePlan, _evidence: Evidence, _cutoffMs: Millis): Verdict {
    return { kind: 'wait', againInMs: Number.POSITIVE_INFINITY };
  }

  learn(ended: EndedJob): void {
    const stages = stagesAsJobs(ended.job);
    if (stages === undefined) return learnFrom(this.#history, ended);
    if (!ended.completed) return;
    const runsMs = Float64Array.from(ended.runsMs);
    let first = 0;
    for (const job of stages) {
      learnFrom(this.#history, { ...ended, job, runsMs: runsMs.subarray(first, first + job.tasks) });
      first += job.tasks;
    }
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
    ...present({ valuesMax: featureValuesMax }),
  };
}

/** Learns from a completed job. Other jobs have no valid run times. */
export function learnFrom(history: History, { job, completed, runsMs }: EndedJob): void {
  const { length } = runsMs;
  if (!completed || length === 0) return;
  history.learn(job, sumOf(runsMs) / length, spreadOf(runsMs));
}

/** Returns the estimate of a prediction, which must have at least one run. */
export function expertsEstimate(
  job: ArrivingJob,
  prediction: HistoryPrediction,
  withDistribution: WithDistribution,
): Estimate {
  const { estimateMs, samples, expert, logVariance } = prediction;
  // Variance of a lognormal with this variance of its logarithm.
  const varianceMs2 = estimateMs ** 2 * Math.expm1(logVariance);
  const of = expert === undefined ? '' : `${expert.guess} of ${expert.feature}, `;
  return {
    meanMs: estimateMs,
    by: `history: ${of}${runsIn(samples)}`,
    ...(Number.isFinite(varianceMs2) ? { varianceMs2 } : {}),
    ...(withDistribution(job, estimateMs) ? { distribution: prediction.distribution() } : {}),
  };
}

function runsIn(samples: number): string {
  return samples === 1 ? '1 run' : `${samples} runs`;
}
