import { type Millis, meanOf } from '@goshawk/core';
import { Spread, spreadOf } from '../history/spread.js';
import { logOf, posterior } from '../posterior.js';

/** Weight kept when another job is learned: about the last two hundred jobs count. */
const KEPT = 0.995;
/** Minimum number of jobs to estimate how much they differ. */
const ENOUGH_JOBS = 10;
/** Standard deviations beyond which a job counts as a different kind. */
const UNLIKE = 3;

/**
 * The jobs that ended lately: how long their tasks took, how much that differs from job to job, and how much within one.
 *
 * Where jobs differ and their tasks do not, a pilot tells nearly all there is to know of its job. Where jobs hardly
 * differ and their tasks do, it tells nearly nothing, and an order that goes by it is chance: then what is believed of a
 * job is what such jobs take.
 */
export class Population {
  /** Sums over the jobs, the last ones counting most: of the logarithms of their means, and of what these err by. */
  #jobs = 0;
  #logs = 0;
  #squares = 0;
  #noises = 0;
  #spread = new Spread(KEPT);

  /** @param runsMs run times of a job's tasks; those of a single task do not tell how tasks differ */
  learn(runsMs: ArrayLike<Millis>): void {
    const spread = spreadOf(runsMs);
    if (spread === undefined) return;
    const { length } = runsMs;
    const log = logOf(meanOf(runsMs));
    this.#jobs = this.#jobs * KEPT + 1;
    this.#logs = this.#logs * KEPT + log;
    this.#squares = this.#squares * KEPT + log ** 2;
    this.#noises = this.#noises * KEPT + spread / length;
    this.#spread.add(spread);
  }

  /** Mean task run time of a job of which nothing else is known: the geometric mean. ms; undefined as long as no job is */
  get typicalMs(): Millis | undefined {
    return this.#jobs === 0 ? undefined : Math.exp(this.#logs / this.#jobs);
  }

  /**
   * Combines a job's pilots with the population of jobs (SLearn §4.1). The spread of jobs is the variance of
   * the observed means beyond that of their tasks (the between-study variance of DerSimonian and Laird,
   * Controlled Clinical Trials 1986, on a log scale). A job longer than the spread explains is of another
   * kind and keeps the pilots' estimate.
   * @param meanMs of this many pilots
   */
  weigh(meanMs: Millis, pilots: number): Millis {
    if (this.#jobs < ENOUGH_JOBS) return meanMs;
    const log = this.#logs / this.#jobs;
    const betweenJobs = Math.max(0, this.#squares / this.#jobs - log ** 2 - this.#noises / this.#jobs);
    const ofPilots = this.#spread.typical! / pilots;
    if (logOf(meanMs) - log > UNLIKE * Math.sqrt(betweenJobs + ofPilots)) return meanMs;
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
    this.#spread = Spread.load([logSpreads, jobs], KEPT);
  }
}

type SavedPopulation = readonly [
  jobs: number,
  logs: number,
  squares: number,
  noises: number,
  logSpreads: number,
];
