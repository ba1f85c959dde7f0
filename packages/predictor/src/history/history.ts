import type { Millis } from '@goshawk/core';
import type { ArrivingJob, Segment } from '../estimator.js';
import { DEFAULT_EXPERTS, type ExpertSettings, GUESSES, type Guess, Runs } from './experts.js';
import { DEFAULT_FEATURES, FeatureKeys } from './features.js';
import { RecencyMap } from './recency-map.js';
import { readSavedHistory, type SavedHistory, SCHEMA, savedCharactersMax } from './saved.js';

/**
 * 3σPredict (§4.1): a job will run as long as jobs like it have run. What "like it" means is learned: for each
 * value of each feature four experts guess from its past runs, and the one that has erred least so far is believed.
 */
export interface HistorySettings extends ExpertSettings {
  readonly features: readonly string[];
  /** Feature values that are remembered; the one that no job had for longest is forgotten. */
  readonly valuesMax: number;
  /** Estimate for a job without history. */
  readonly defaultMs: Millis;
}

export const DEFAULT_HISTORY: HistorySettings = {
  ...DEFAULT_EXPERTS,
  features: DEFAULT_FEATURES,
  valuesMax: 20_000,
  defaultMs: 600_000,
};

export interface HistoryPrediction {
  /** Mean task run time. */
  readonly estimateMs: Millis;
  /** Past runs that it follows from; 0 for a job of which nothing is known. */
  readonly samples: number;
  /** Undefined as long as no expert was judged. */
  readonly expert: { readonly feature: string; readonly guess: Guess } | undefined;
  /** Mean of ln²(estimate ÷ actual) over what this expert said so far; Infinity where nobody was judged. */
  readonly logVariance: number;
  /**
   * How the tasks of one such job differ: a typical ln(1 + v²), v their standard deviation over their mean.
   * Undefined where no such job had two tasks.
   */
  readonly taskSpread: number | undefined;
  /** The runs of the chosen feature value: what a scheduler that plans by distributions takes. */
  distribution(): Segment[];
}

interface Choice {
  readonly runs: Runs;
  readonly feature: number;
  readonly expert: number;
  readonly error: number;
}

export class History {
  readonly #settings: HistorySettings;
  readonly #keys: FeatureKeys;
  readonly #values: RecencyMap<Runs>;

  /** @throws InputError for a feature that there is not */
  constructor(settings: Partial<HistorySettings> = {}) {
    this.#settings = { ...DEFAULT_HISTORY, ...settings };
    this.#keys = new FeatureKeys(this.#settings.features);
    this.#values = new RecencyMap(this.#settings.valuesMax);
  }

  /** Upper bound of its JSON, however much it learns. */
  get savedCharactersMax(): number {
    return savedCharactersMax(this.#settings);
  }

  /** Changes nothing: a job counts when it has ended. */
  predict(job: ArrivingJob): HistoryPrediction {
    let best: Choice | undefined;
    let most: Runs | undefined;
    const keys = this.#keys.of(job);
    for (let feature = 0; feature < keys.length; feature++) {
      const runs = this.#values.peek(keys[feature]!);
      if (runs === undefined) continue;
      if (most === undefined || runs.samples > most.samples) most = runs;
      if (runs.scored > 0) best = betterOf(best, runs, feature);
    }
    if (best !== undefined) return this.#predictionOf(best);
    return most === undefined ? this.#blind() : unjudged(most);
  }

  /**
   * Learns from a job that ended.
   *
   * @param actualMs mean run time of its tasks that completed
   * @param taskSpread how they differed (`spreadOf`), of two tasks at least
   */
  learn(job: ArrivingJob, actualMs: Millis, taskSpread?: number): void {
    for (const key of this.#keys.of(job)) {
      if (Number.isNaN(key)) continue;
      let runs = this.#values.use(key);
      if (runs === undefined) {
        runs = new Runs(this.#settings);
        this.#values.add(key, runs);
      }
      runs.add(actualMs, taskSpread);
    }
  }

  /** Plain values, which JSON and MessagePack carry; least recently used first. */
  save(): SavedHistory {
    return { schema: SCHEMA, values: Array.from(this.#values, ([key, runs]) => [key, runs.save()]) };
  }

  /**
   * Loads saved history under current settings, without the least recently used values beyond `valuesMax`.
   * Values of features no longer in use expire.
   * @throws InputError in one line if it is not a history, or from a newer version
   */
  static load(saved: unknown, settings: Partial<HistorySettings> = {}): History {
    const history = new History(settings);
    for (const [key, runs] of readSavedHistory(saved).values) {
      history.#values.add(key, Runs.load(runs, history.#settings));
    }
    return history;
  }

  #predictionOf({ runs, feature, expert }: Choice): HistoryPrediction {
    return {
      estimateMs: runs.guess(expert),
      samples: runs.samples,
      expert: { feature: this.#settings.features[feature]!, guess: GUESSES[expert]! },
      logVariance: runs.logVarianceOf(expert),
      taskSpread: runs.taskSpread,
      distribution: () => runs.histogram.segments(),
    };
  }

  #blind(): HistoryPrediction {
    const { defaultMs } = this.#settings;
    return {
      estimateMs: defaultMs,
      samples: 0,
      expert: undefined,
      logVariance: Number.POSITIVE_INFINITY,
      taskSpread: undefined,
      distribution: () => [{ from: defaultMs, to: defaultMs, p: 1 }],
    };
  }
}

/** The expert of least error; on ties the one of more runs, then the earlier feature, then the earlier guess. */
function betterOf(best: Choice | undefined, runs: Runs, feature: number): Choice | undefined {
  for (let expert = 0; expert < GUESSES.length; expert++) {
    const error = runs.errorOf(expert);
    const better =
      best === undefined || error < best.error || (error === best.error && runs.samples > best.runs.samples);
    if (better) best = { runs, feature, expert, error };
  }
  return best;
}

function unjudged(runs: Runs): HistoryPrediction {
  return {
    estimateMs: runs.guess(0),
    samples: runs.samples,
    expert: undefined,
    logVariance: Number.POSITIVE_INFINITY,
    taskSpread: runs.taskSpread,
    distribution: () => runs.histogram.segments(),
  };
}
