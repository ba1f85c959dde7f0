import type { Millis } from '@goshawk/core';
import { logOf } from '../posterior.js';
import { BINS_MAX, Histogram, type SavedBin } from './histogram.js';
import { type SavedSpread, Spread } from './spread.js';

/** Four ways of estimating from past runs (3σPredict §4.1). An expert is one of them, for one value of a feature. */
export const GUESSES = ['average', 'median', 'rolling', 'recent'] as const;
export type Guess = (typeof GUESSES)[number];

export interface ExpertSettings {
  readonly binsMax: number;
  /** Weight of the newest run in the rolling guess (3σPredict §4.1: 0.6). */
  readonly alpha: number;
  /** Number of runs averaged by the guess `recent`. */
  readonly recent: number;
  /** Number of newest runs from which the median is taken. */
  readonly medianOf: number;
}

export const DEFAULT_EXPERTS: ExpertSettings = { binsMax: BINS_MAX, alpha: 0.6, recent: 10, medianOf: 50 };

/** Saved state of one feature value. */
export interface SavedRuns {
  readonly bins: readonly SavedBin[];
  /** Oldest first. */
  readonly recent: readonly number[];
  /** Total run time. */
  readonly total: Millis;
  readonly rolling: Millis;
  readonly scored: number;
  readonly actual: number;
  /** Errors by expert. */
  readonly errors: readonly number[];
  readonly spread: SavedSpread;
  readonly logErrors: readonly number[];
}

const NO_SCORES: readonly number[] = new Array<number>(2 * GUESSES.length).fill(0);

/**
 * History of the runs that share one value of a feature, such as all jobs of one user. Its size is bounded. It scores
 * its four experts by their normalized mean absolute error: Σ|estimate − actual| ÷ Σ actual.
 */
export class Runs {
  readonly #settings: ExpertSettings;
  #histogram: Histogram;
  /** A ring buffer of the newest runs, and the same sorted; both grow up to `medianOf`. */
  readonly #ring: number[] = [];
  readonly #sorted: number[] = [];
  /** Index of the next run. */
  #next = 0;
  #total = 0;
  #rolling = 0;
  #scored = 0;
  #actual = 0;
  #spread = new Spread();
  /** Σ|estimate − actual| of each expert, followed by Σ ln²(estimate ÷ actual). Most values occur only once. */
  #scores = NO_SCORES;

  constructor(settings: ExpertSettings = DEFAULT_EXPERTS) {
    this.#settings = settings;
    this.#histogram = new Histogram(settings.binsMax);
  }

  get samples(): number {
    return this.#histogram.count;
  }

  /** Number of runs that the experts were scored on: all but the first. */
  get scored(): number {
    return this.#scored;
  }

  get histogram(): Histogram {
    return this.#histogram;
  }

  /** Typical spread of the tasks of one job (see `spreadOf`); undefined if no job had two tasks. */
  get taskSpread(): number | undefined {
    return this.#spread.typical;
  }

  /**
   * Scores the current guesses of the experts on an ended run, then learns from it.
   *
   * @param taskSpread spread of its tasks, if there were at least two
   */
  add(actualMs: Millis, taskSpread?: number): void {
    if (this.samples > 0) this.#score(actualMs);
    this.#histogram.add(actualMs);
    this.#total += actualMs;
    const { alpha } = this.#settings;
    this.#rolling = this.samples === 1 ? actualMs : alpha * actualMs + (1 - alpha) * this.#rolling;
    this.#addRecent(actualMs);
    if (taskSpread !== undefined) this.#spread.add(taskSpread);
  }

  /** Returns the estimate of an expert; NaN before the first run. */
  guess(expert: number): Millis {
    switch (expert) {
      case 0:
        return this.#total / this.samples;
      case 1:
        return this.samples === 0 ? Number.NaN : this.#sorted[Math.ceil(this.#sorted.length / 2) - 1]!;
      case 2:
        return this.samples === 0 ? Number.NaN : this.#rolling;
      default:
        return this.#meanOfNewest();
    }
  }

  /** Returns the normalized mean absolute error of an expert. Requires at least one scored run. */
  errorOf(expert: number): number {
    const error = this.#scores[expert]!;
    return error === 0 ? 0 : error / this.#actual;
  }

  /**
   * Variance of an expert's error as a factor: the mean of ln²(estimate ÷ actual). Logarithmic because run times err
   * by factors: otherwise one job that ran for a day would outweigh a hundred accurate guesses.
   */
  logVarianceOf(expert: number): number {
    return this.#scores[GUESSES.length + expert]! / this.#scored;
  }

  save(): SavedRuns {
    return {
      bins: this.#histogram.save(),
      recent: this.#newest(this.#ring.length),
      total: this.#total,
      rolling: this.#rolling,
      scored: this.#scored,
      actual: this.#actual,
      errors: this.#scores.slice(0, GUESSES.length),
      spread: this.#spread.save(),
      logErrors: this.#scores.slice(GUESSES.length),
    };
  }

  static load(saved: SavedRuns, settings: ExpertSettings = DEFAULT_EXPERTS): Runs {
    const runs = new Runs(settings);
    runs.#histogram = Histogram.load(saved.bins, settings.binsMax);
    runs.#total = saved.total;
    for (const run of saved.recent) runs.#addRecent(run);
    runs.#rolling = saved.rolling;
    runs.#scored = saved.scored;
    runs.#actual = saved.actual;
    runs.#spread = Spread.load(saved.spread);
    runs.#scores = [...saved.errors, ...saved.logErrors];
    return runs;
  }

  #score(actualMs: Millis): void {
    if (this.#scored === 0) this.#scores = [...NO_SCORES];
    const scores = this.#scores as number[];
    this.#scored++;
    this.#actual += actualMs;
    const log = logOf(actualMs);
    for (let expert = 0; expert < GUESSES.length; expert++) {
      const guess = this.guess(expert);
      scores[expert]! += Math.abs(guess - actualMs);
      scores[GUESSES.length + expert]! += (logOf(guess) - log) ** 2;
    }
  }

  #addRecent(run: Millis): void {
    const { medianOf } = this.#settings;
    const ring = this.#ring;
    const sorted = this.#sorted;
    // In a full ring, the next run replaces the oldest.
    if (ring.length === medianOf) sorted.splice(placeIn(sorted, ring[this.#next]!), 1);
    sorted.splice(placeIn(sorted, run), 0, run);
    ring[this.#next] = run;
    this.#next = (this.#next + 1) % medianOf;
  }

  #meanOfNewest(): Millis {
    const count = Math.min(this.#settings.recent, this.#ring.length);
    let total = 0;
    for (let back = 1; back <= count; back++) total += this.#ring[this.#before(back)]!;
    return total / count;
  }

  #newest(count: number): number[] {
    const newest: Millis[] = [];
    for (let back = count; back > 0; back--) newest.push(this.#ring[this.#before(back)]!);
    return newest;
  }

  /** Returns the ring index `back` positions before the next run. */
  #before(back: number): number {
    const { medianOf } = this.#settings;
    return (this.#next - back + medianOf) % medianOf;
  }
}

/** Returns the first index with a value of at least `value`. */
function placeIn(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
