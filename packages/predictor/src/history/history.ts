import type { Millis } from '@goshawk/core';
import type { ArrivingJob, Segment } from '../estimator.js';
import { DEFAULT_EXPERTS, type ExpertSettings, GUESSES, type Guess, Runs } from './experts.js';
import { DEFAULT_FEATURES, FeatureKeys } from './features.js';
import { RecencyMap } from './recency-map.js';
import { readSavedHistory, type SavedHistory, SCHEMA, savedCharactersMax } from './saved.js';

export interface HistorySettings extends ExpertSettings {
  readonly features: readonly string[];
  /** Maximum number of feature values; the least recently used one is evicted. */
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
  /** Number of past runs behind the estimate; 0: nothing is known. */
  readonly samples: number;
  /** The chosen expert; undefined until one has been scored. */
  readonly expert: { readonly feature: string; readonly guess: Guess } | undefined;
  /** Mean of ln²(estimate ÷ actual) over this expert's guesses; Infinity if none was scored. */
  readonly logVariance: number;
  /**
   * How much the tasks of one such job differ: a typical ln(1 + v²), where v is their standard deviation over their
   * mean. undefined if no such job had two tasks.
   */
  readonly taskSpread: number | undefined;
  /** Returns the distribution of the runs of the chosen feature value, for policies that plan by distributions. */
  distribution(): Segment[];
}

interface Choice {
  readonly runs: Runs;
  readonly feature: number;
  readonly expert: number;
  readonly error: number;
}

/**
 * 3σPredict (§4.1) assumes that a job runs as long as similar jobs have. It learns which jobs are similar: four experts
 * guess from the past runs of each value of each feature, and the one with the smallest error so far is used.
 */
export class History {
  readonly #settings: HistorySettings;
  readonly #keys: FeatureKeys;
  readonly #values: RecencyMap<Runs>;

  /** @throws InputError for an unknown feature */
  constructor(settings: Partial<HistorySettings> = {}) {
    this.#settings = { ...DEFAULT_HISTORY, ...settings };
    this.#keys = new FeatureKeys(this.#settings.features);
    this.#values = new RecencyMap(this.#settings.valuesMax);
  }

  /** Maximum length of the JSON of `save`, however much it learns. */
  get savedCharactersMax(): number {
    return savedCharactersMax(this.#settings);
  }

  /** Predicts the run time of a job. Has no side effects. */
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
    return most === undefined ? this.#withoutHistory() : unscored(most);
  }

  /**
   * Learns from an ended job.
   *
   * @param actualMs mean run time of its completed tasks
   * @param taskSpread how much they differed (`spreadOf`), with at least two tasks
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

  /** Returns the state as plain values, the least recently used first. */
  save(): SavedHistory {
    return { schema: SCHEMA, values: Array.from(this.#values, ([key, runs]) => [key, runs.save()]) };
  }

  /**
   * Loads saved history under current settings, without the least recently used values beyond `valuesMax`. Values of features that are not in use are evicted over time.
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

  #withoutHistory(): HistoryPrediction {
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

/** Returns the better expert: smaller error, then more runs, then the earlier feature, then the earlier guess. */
function betterOf(best: Choice | undefined, runs: Runs, feature: number): Choice | undefined {
  for (let expert = 0; expert < GUESSES.length; expert++) {
    const error = runs.errorOf(expert);
    const better =
      best === undefined || error < best.error || (error === best.error && runs.samples > best.runs.samples);
    if (better) best = { runs, feature, expert, error };
  }
  return best;
}

function unscored(runs: Runs): HistoryPrediction {
  return {
    estimateMs: runs.guess(0),
    samples: runs.samples,
    expert: undefined,
    logVariance: Number.POSITIVE_INFINITY,
    taskSpread: runs.taskSpread,
    distribution: () => runs.histogram.segments(),
  };
}
