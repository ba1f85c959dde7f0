import { type Millis, meanOf, present, sumOf } from '@goshawk/core';
import { z } from 'zod';
import type {
  ArrivingJob,
  EndedJob,
  Estimate,
  Estimator,
  Evidence,
  Prediction,
  SamplePlan,
  Verdict,
} from '../estimator.js';
import type { EstimatorSettings } from '../settings.js';
import { notSavedBy } from '../stateless.js';
import { AdaptiveRatio } from './adaptive-ratio.js';
import { Population } from './population.js';
import { weighPilots } from './weigh-pilots.js';

/** Number of recent long jobs that are averaged to estimate a job that is only known to be long. */
const RECENT_LONG_JOBS = 100;
/** Length of the longest number in JSON, with a comma. */
const NUMBER_CHARACTERS = 25;

/**
 * Pilot sampling (SLearn §3–5): a few random tasks of a job run first, and the mean of their run times is the estimate.
 * The other tasks wait for it, unless slots are idle.
 */
export class Pilot implements Estimator {
  readonly name = 'pilot';
  readonly savedCharactersMax = (5 * 100 + RECENT_LONG_JOBS) * NUMBER_CHARACTERS + 512;
  readonly #settings: EstimatorSettings;
  readonly #adaptive: AdaptiveRatio | undefined;
  readonly #population = new Population();
  /** Mean task run times in ms of recent long jobs. */
  #recentLong: Millis[] = [];

  constructor(settings: EstimatorSettings) {
    this.#settings = settings;
    this.#adaptive = settings.pilotRatio === 'adaptive' ? new AdaptiveRatio() : undefined;
  }

  predict({ tasks, startable }: ArrivingJob): Prediction {
    const { pilotRatio, pilotsMax, thinLimit } = this.#settings;
    const guess = this.#guess();
    if (tasks < thinLimit) return { kind: 'thin', guess };
    const percent = this.#adaptive?.choose();
    const ratio = percent === undefined ? Number(pilotRatio) : percent / 100;
    const wanted = Math.max(1, Math.round(ratio * startable));
    const pilots = Math.min(startable, pilotsMax ?? startable, wanted);
    return { kind: 'sample', pilots, guess, ...present({ note: percent }) };
  }

  weigh(job: ArrivingJob, plan: SamplePlan, evidence: Evidence, cutoffMs: Millis): Verdict {
    const verdict = this.weighPilotsOnly(job, plan, evidence, cutoffMs);
    const pilots = evidence.runsMs.length;
    if (!this.#settings.pilotPrior || verdict.kind === 'wait' || verdict.provisional || pilots === 0)
      return verdict;
    const { estimate } = verdict;
    const meanMs = this.#population.weigh(estimate.meanMs, pilots);
    // Most jobs are short, so the population is no evidence about a job that is long even after the combination.
    if (meanMs === estimate.meanMs || meanMs >= cutoffMs) return verdict;
    return { kind: 'decided', estimate: { meanMs, by: `${estimate.by}, and recently ended jobs` } };
  }

  /** Decides by the pilots alone, without the prior. */
  weighPilotsOnly(_job: ArrivingJob, _plan: SamplePlan, evidence: Evidence, cutoffMs: Millis): Verdict {
    return weighPilots(evidence, {
      cutoffMs,
      quorum: this.#settings.pilotQuorum,
      typicalLongMs: meanOfAny(this.#recentLong),
    });
  }

  learn({ prediction, completed, long, runtimeMs, runsMs }: EndedJob): void {
    const { length } = runsMs;
    if (!completed) return;
    this.#population.learn(runsMs);
    const sum = sumOf(runsMs);
    if (long) {
      this.#recentLong.push(sum / length);
      if (this.#recentLong.length > RECENT_LONG_JOBS) this.#recentLong.shift();
    }
    const { note } = prediction;
    if (typeof note === 'number' && sum > 0) this.#adaptive?.finished(note, runtimeMs / sum);
  }

  save(): unknown {
    return {
      kind: 'pilot/2',
      population: this.#population.save(),
      long: this.#recentLong,
      ...(this.#adaptive === undefined ? {} : { ratio: this.#adaptive.save() }),
    };
  }

  load(saved: unknown): void {
    const { success, data } = savedSchema.safeParse(saved);
    if (!success) throw notSavedBy(this.name);
    this.#population.load(data.population);
    this.#recentLong = data.long.slice(-RECENT_LONG_JOBS);
    if (data.ratio !== undefined) this.#adaptive?.load(data.ratio);
  }

  #guess(): Estimate | undefined {
    const { typicalMs } = this.#population;
    return typicalMs === undefined ? undefined : { meanMs: typicalMs, by: 'recently ended jobs' };
  }
}

const numbers = () => z.array(z.number().nonnegative());
const savedSchema = z.lazy(() =>
  z.strictObject({
    kind: z.literal('pilot/2'),
    population: z.tuple([z.number(), z.number(), z.number(), z.number(), z.number()]),
    long: numbers(),
    ratio: z
      .strictObject({ chosen: z.int().nonnegative(), scores: z.array(z.tuple([z.number(), numbers()])) })
      .optional(),
  }),
);

function meanOfAny(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : meanOf(values);
}
