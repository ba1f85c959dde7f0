import { drawDistinct, type Millis, meanOf, Random } from '@goshawk/core';
import type { ArrivingJob, Estimate, Prediction } from '../estimator.js';
import { guardedEstimator } from '../estimators.js';
import type { EstimatorFailed, Guarded } from '../guarded.js';
import { FeatureKeys } from '../history/features.js';
import { RecencyMap } from '../history/recency-map.js';
import type { EstimatorSettings } from '../settings.js';
import { type EstimatorScore, Score, type ScoreCounts, scoreOf } from './score.js';
import { simulatePilots } from './simulate-pilots.js';

/** Outcome of a job. */
interface JobOutcome {
  readonly completed: boolean;
  /** Time from submission to the end of the last task. */
  readonly runtimeMs: Millis;
  /** Run times of completed tasks. */
  readonly runsMs: ArrayLike<Millis>;
}

export interface ScoreboardSettings extends EstimatorSettings {
  /** A job with this mean task run time or more is long. */
  readonly cutoffMs: Millis;
}

/** Maximum number of names whose jobs are counted. */
const NAMES_MAX = 50_000;

/**
 * Estimators in shadow mode: each predicts every arriving job, receives the evidence that its own pilots would have given, and learns from every job that ends; only its score is used. The hypothetical pilots are drawn when the
 * job has ended, and assumed to start immediately, which is the best case for the delay.
 *
 * Jobs must arrive and end in order of time, with distinct ids.
 */
export class Scoreboard {
  readonly #cutoffMs: Millis;
  readonly #random: Random;
  readonly #shadows: readonly { readonly estimator: Guarded; readonly score: Score }[];
  readonly #underway = new Map<string | number, Underway>();
  readonly #names = new FeatureKeys(['user+logical', 'logical', 'user+name']);
  readonly #seen = new RecencyMap<{ times: number }>(NAMES_MAX);

  /**
   * @param names of estimators, with arguments
   * @param estimatorStates saved states by name
   * @param failed receives each fault of an estimator
   * @throws InputError for an unknown estimator or invalid state
   */
  constructor(
    names: readonly string[],
    settings: ScoreboardSettings,
    seed: number | string,
    estimatorStates: Readonly<Record<string, unknown>> = {},
    failed: (name: string, ...fault: Parameters<EstimatorFailed>) => void = () => {},
  ) {
    this.#cutoffMs = settings.cutoffMs;
    this.#random = Random.seeded(`shadow ${seed}`);
    this.#shadows = names.map((name) => {
      const stream = this.#random.fork(name);
      const random = () => stream.next();
      const estimator = guardedEstimator(name, settings, random, (error) => failed(name, error));
      if (estimatorStates[name] !== undefined) estimator.load(estimatorStates[name]);
      return { estimator, score: new Score(settings.cutoffMs) };
    });
  }

  arrived(id: string | number, job: ArrivingJob): void {
    this.#underway.set(id, {
      job,
      seenBefore: this.#countSeen(job),
      predictions: this.#shadows.map(({ estimator }) => estimator.predict(job)),
    });
  }

  /** Ignores jobs that did not arrive here. */
  ended(id: string | number, end: JobOutcome): void {
    const underway = this.#underway.get(id);
    if (underway === undefined) return;
    this.#underway.delete(id);
    const { job, predictions, seenBefore } = underway;
    const trueMeanMs = meanOf(end.runsMs);
    this.#shadows.forEach(({ estimator, score }, place) => {
      const prediction = predictions[place]!;
      if (end.completed && end.runsMs.length > 0) {
        const { estimate, pilots, delayMs } = this.#estimateOf(estimator, job, prediction, end.runsMs);
        const estimateMs = estimate?.meanMs;
        score.add({ trueMeanMs, tasks: end.runsMs.length, estimateMs, pilots, delayMs, seenBefore });
      }
      estimator.learn({ job, prediction, long: trueMeanMs >= this.#cutoffMs, ...end });
    });
  }

  /** Returns the state to save, by estimator name. */
  save(): Record<string, unknown> {
    return Object.fromEntries(this.#shadows.map(({ estimator }) => [estimator.name, estimator.save()]));
  }

  results(): EstimatorScore[] {
    return this.#shadows.map(({ estimator, score }) => scoreOf(estimator.name, score.counts));
  }

  /** Returns counts by estimator. They can be summed over schedulers, and `scoreOf` turns them into scores. */
  counts(): Record<string, ScoreCounts> {
    return Object.fromEntries(this.#shadows.map(({ estimator, score }) => [estimator.name, score.counts]));
  }

  #estimateOf(
    estimator: Guarded,
    job: ArrivingJob,
    prediction: Prediction,
    runsMs: ArrayLike<Millis>,
  ): { readonly estimate: Estimate | undefined; readonly pilots: number; readonly delayMs: Millis } {
    if (prediction.kind === 'estimate') return { estimate: prediction.estimate, pilots: 0, delayMs: 0 };
    if (prediction.kind !== 'sample') return { estimate: undefined, pilots: 0, delayMs: 0 };
    const pilotsMs = this.#draw(runsMs, prediction.pilots);
    const played = simulatePilots(estimator, job, prediction, pilotsMs, this.#cutoffMs);
    return { estimate: played?.estimate, pilots: pilotsMs.length, delayMs: played?.delayMs ?? 0 };
  }

  /** Draws distinct tasks. */
  #draw(runsMs: ArrayLike<Millis>, wanted: number): Millis[] {
    const source = { random: () => this.#random.next() };
    const places = drawDistinct(source, runsMs.length, Math.min(wanted, runsMs.length));
    return places.map((place) => runsMs[place]!);
  }

  /** Returns the number of earlier jobs of its kind; undefined if the job has no name. */
  #countSeen(job: ArrivingJob): number | undefined {
    const key = this.#names.of(job).find((each) => !Number.isNaN(each));
    if (key === undefined) return undefined;
    const seen = this.#seen.use(key);
    if (seen !== undefined) return seen.times++;
    this.#seen.add(key, { times: 1 });
    return 0;
  }
}

interface Underway {
  readonly job: ArrivingJob;
  readonly seenBefore: number | undefined;
  /** Predictions by shadow estimator. */
  readonly predictions: readonly Prediction[];
}
