import { type Millis, meanOf } from '@goshawk/core';
import { Spread, spreadOf } from '../history/spread.js';
import { logOf, posterior } from '../posterior.js';

/** Weight that earlier jobs keep when one is added, so that about the last 200 count. */
const DECAY = 0.995;
/** Minimum number of jobs to estimate how much they differ. */
const ENOUGH_JOBS = 10;
/** A job this many standard deviations above the mean counts as a different kind. */
const OUTLIER_DEVIATIONS = 3;

/**
 * Statistics of recently ended jobs: how long their tasks took, and how much that differs between jobs and within them.
 *
 * If jobs differ and their tasks do not, one pilot determines the job. If jobs are alike and their tasks differ, a
 * pilot says almost nothing, and the best estimate is that of the population.
 */
export class Population {
  /**
   * Weighted sums over jobs, recent ones counting most: of the logarithms of their means, and of the errors of these.
   */
  #jobs = 0;
  #logs = 0;
  #squares = 0;
  #noises = 0;
  #spread = new Spread(DECAY);

  /** @param runsMs run times of a job's tasks; a single task does not show how tasks differ */
  learn(runsMs: ArrayLike<Millis>): void {
    const spread = spreadOf(runsMs);
    if (spread === undefined) return;
    const { length } = runsMs;
    const log = logOf(meanOf(runsMs));
    this.#jobs = this.#jobs * DECAY + 1;
    this.#logs = this.#logs * DECAY + log;
    this.#squares = this.#squares * DECAY + log ** 2;
    this.#noises = this.#noises * DECAY + spread / length;
    this.#spread.add(spread);
  }

  /** Estimate in ms for a job about which nothing is known: the geometric mean. Undefined before the first job. */
  get typicalMs(): Millis | undefined {
    return this.#jobs === 0 ? undefined : Math.exp(this.#logs / this.#jobs);
  }

  /**
   * Combines a job's pilots with the population of jobs (SLearn §4.1). The spread of jobs is the variance of the
   * observed means beyond that of their tasks (the between-study variance of DerSimonian and Laird, Controlled
   * Clinical Trials 1986, on a log scale). A job longer than the spread explains is of another kind and keeps the
   * pilots' estimate.
   *
   * @param meanMs mean run time of the pilots
   */
  weigh(meanMs: Millis, pilots: number): Millis {
    if (this.#jobs < ENOUGH_JOBS) return meanMs;
    const log = this.#logs / this.#jobs;
    const betweenJobs = Math.max(0, this.#squares / this.#jobs - log ** 2 - this.#noises / this.#jobs);
    const ofPilots = this.#spread.typical! / pilots;
    if (logOf(meanMs) - log > OUTLIER_DEVIATIONS * Math.sqrt(betweenJobs + ofPilots)) return meanMs;
    return posterior({ meanMs, logVariance: ofPilots }, { meanMs: Math.exp(log), logVariance: betweenJobs });
  }

  save(): SavedPopulation {
    const [logSpreads] = this.#spread.save();
    return [this.#jobs, this.#logs, this.#squares, this.#noises, logSpreads];
  }

  load([jobs, logs, squares, noises, logSpreads]: SavedPopulation): void {
    this.#jobs = jobs;
    this.#logs = logs;
    this.#squares = squares;
    this.#noises = noises;
    this.#spread = Spread.load([logSpreads, jobs], DECAY);
  }
}

type SavedPopulation = readonly [
  jobs: number,
  logs: number,
  squares: number,
  noises: number,
  logSpreads: number,
];
