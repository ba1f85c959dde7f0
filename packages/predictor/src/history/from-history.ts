import { type Millis, present } from '@goshawk/core';
import type {
  ArrivingJob,
  EndedJob,
  Estimator,
  Evidence,
  Judgement,
  SamplePlan,
  Verdict,
} from '../estimator.js';
import type { EstimatorSettings } from '../settings.js';
import { stagesAsJobs } from '../stages.js';
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

  /** Each stage by itself; undefined for a job of one stage. */
  protected predictStages(job: ArrivingJob): HistoryPrediction[] | undefined {
    return stagesAsJobs(job)?.map((stage) => this.#history.predict(stage));
  }

  /** Asks for no pilots, so there is nothing to weigh. */
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

/** A job that failed or was cancelled says nothing about how long such jobs run. */
export function learnFrom(history: History, { job, completed, runsMs }: EndedJob): void {
  const { length } = runsMs;
  if (!completed || length === 0) return;
  let sum = 0;
  for (let i = 0; i < length; i++) sum += runsMs[i]!;
  history.learn(job, sum / length, spreadOf(runsMs));
}
