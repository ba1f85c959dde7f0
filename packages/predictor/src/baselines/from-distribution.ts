import type { Millis } from '@goshawk/core';
import type { ArrivingJob, EndedJob, Estimator, Judgement, Segment, Verdict } from '../estimator.js';
import { DEFAULT_HISTORY, History } from '../history/history.js';
import { historySettings, learnFrom } from '../history/history-estimator.js';
import { savedCharactersMax } from '../history/saved.js';
import type { EstimatorSettings } from '../settings.js';

/**
 * The baselines of SLearn that predict from history (SLearn §5.1.3): the feature that has told best says which past runs
 * are like this job, and a number is made of their distribution. A job like which none has run is taken for one of the
 * default run time (3σPredict, §4.1 of its paper, does not say).
 */
export class FromDistribution implements Estimator {
  readonly name: string;
  readonly savedCharactersMax: number;
  readonly #settings: EstimatorSettings;
  readonly #pointOf: (distribution: readonly Segment[]) => Millis;
  /** Jobs of fewer tasks go ahead of all others, whatever history says. */
  readonly #thinLimit: number;
  #history: History;

  /** @throws InputError for a feature that there is not */
  constructor(
    name: string,
    settings: EstimatorSettings,
    pointOf: (distribution: readonly Segment[]) => Millis,
    thinLimit = 0,
  ) {
    this.name = name;
    this.#settings = settings;
    this.#pointOf = pointOf;
    this.#thinLimit = thinLimit;
    this.#history = new History(historySettings(settings));
    this.savedCharactersMax = savedCharactersMax({ ...DEFAULT_HISTORY, ...historySettings(settings) });
  }

  judge(job: ArrivingJob): Judgement {
    if (job.tasks < this.#thinLimit) return { kind: 'thin' };
    const prediction = this.#history.predict(job);
    const distribution = prediction.distribution();
    const { samples, expert } = prediction;
    const of = expert === undefined ? '' : ` of ${expert.feature}`;
    return {
      kind: 'estimate',
      estimate: {
        meanMs: this.#pointOf(distribution),
        by: samples === 0 ? 'no history' : `history${of}: ${samples === 1 ? '1 run' : `${samples} runs`}`,
        ...(this.#settings.distributions === true ? { distribution } : {}),
      },
    };
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
    this.#history = History.load(saved, historySettings(this.#settings));
  }
}
