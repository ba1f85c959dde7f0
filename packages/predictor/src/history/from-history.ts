import type { ArrivingJob, EndedJob, Estimator, Judgement, Verdict } from '../estimator.js';
import type { EstimatorSettings } from '../settings.js';
import { History, type HistoryPrediction, type HistorySettings } from './history.js';
import { spreadOf } from './spread.js';

/** An estimator that goes by history alone: it runs nothing to learn how long a job will take. */
export abstract class FromHistory implements Estimator {
  readonly name: string;
  readonly #settings: Partial<HistorySettings>;
  #history: History;

  /** @throws InputError for a feature that there is not */
  constructor(name: string, settings: EstimatorSettings) {
    this.name = name;
    this.#settings = historySettings(settings);
    this.#history = new History(this.#settings);
  }

  get savedCharactersMax(): number {
    return this.#history.savedCharactersMax;
  }

  abstract judge(job: ArrivingJob): Judgement;

  protected predict(job: ArrivingJob): HistoryPrediction {
    return this.#history.predict(job);
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
