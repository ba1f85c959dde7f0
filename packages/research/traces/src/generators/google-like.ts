import { Random, sumOf } from '@goshawk/core';
import { microseconds, NormalDraws, poissonArrivals, StratifiedUniform, urn } from '../draws.js';
import { jobOf, type TraceJob } from '../job.js';
import { defineGenerator } from './generator.js';
import { LONG_JOBS, MEAN_QUANTILES, SHORT_JOBS, type SizeBand, SPREAD_QUANTILES } from './google-tables.js';
import { count, positive, seed } from './options.js';

/** Hawk counts the tenth of the jobs with the longest mean task duration as long (§2.3, §4.1). */
const LONG_SHARE = 0.1;
/** Maximum mean of a short job. */
const SHORT_MAX_SECONDS = 918;
/** Number of strata of sizes, sufficient for the 1 in 1,000 jobs with thousands of tasks. */
const SIZE_STRATA = 1024;
/** Number of strata of mean durations, for each class and band of sizes. */
const MEAN_STRATA = 64;

/**
 * Jobs whose statistics match those of the 2011 Google trace: a class, a size in tasks, a mean task
 * duration given both, and a spread within the job given both, from the tables; durations are
 * log-normal around the mean. docs/SIMULATE.md compares the result with the trace.
 */
export const googleLike = defineGenerator({
  name: 'google-like',
  description:
    'jobs like those of the 2011 Google trace: 10% long jobs with 28% of the tasks and 84% of the task seconds',
  options: {
    jobs: count(10_000, 'number of jobs'),
    load: positive(0.9, 'task seconds submitted per second, divided by the number of workers'),
    workers: count(15_000, 'single-slot workers that `load` refers to'),
    seed: seed(),
  },
  generate: ({ jobs, load, workers, seed }) =>
    googleLikeJobs({
      jobs,
      longJobs: Math.floor(LONG_SHARE * jobs),
      meanInterarrivalSeconds: meanTaskSecondsPerJob() / (load * workers),
      seed,
    }),
});

/** Generates the jobs, exactly `longJobs` of which are long, at random positions. */
export function* googleLikeJobs(options: {
  readonly jobs: number;
  readonly longJobs: number;
  readonly meanInterarrivalSeconds: number;
  readonly seed: number;
}): Generator<TraceJob> {
  const random = Random.seeded(options.seed).fork('google-like');
  const nextSubmission = poissonArrivals(random.fork('arrivals'), options.meanInterarrivalSeconds);
  const isLong = urn(random.fork('classes'), options.jobs, options.longJobs);
  const short = new JobClass(SHORT_JOBS, random.fork('short'));
  const long = new JobClass(LONG_JOBS, random.fork('long'));
  for (let i = 0; i < options.jobs; i++) {
    yield jobOf(nextSubmission(), (isLong() ? long : short).drawDurations());
  }
}

/** Expected task seconds of a job, from the tables, which determines the arrival rate for a given load. */
function meanTaskSecondsPerJob(): number {
  return LONG_SHARE * meanTaskSeconds(LONG_JOBS) + (1 - LONG_SHARE) * meanTaskSeconds(SHORT_JOBS);
}

function meanTaskSeconds(bands: readonly SizeBand[]): number {
  let total = 0;
  let smallest = 1;
  let shareBelow = 0;
  for (const band of bands) {
    const meanSeconds = logLinearMean(MEAN_QUANTILES, band.meanSeconds);
    for (const [largest, cumulativeShare] of band.sizes) {
      total += (cumulativeShare - shareBelow) * ((smallest + largest) / 2) * meanSeconds;
      smallest = largest + 1;
      shareBelow = cumulativeShare;
    }
  }
  return total;
}

/** One class of jobs, with its streams of random numbers. */
class JobClass {
  readonly #bands: readonly SizeBand[];
  readonly #sizes: StratifiedUniform;
  readonly #means: readonly StratifiedUniform[];
  readonly #spreads: Random;
  readonly #tasks: NormalDraws;

  constructor(bands: readonly SizeBand[], random: Random) {
    this.#bands = bands;
    this.#sizes = new StratifiedUniform(random.fork('sizes'), SIZE_STRATA);
    this.#means = bands.map((_, i) => new StratifiedUniform(random.fork(`means ${i}`), MEAN_STRATA));
    this.#spreads = random.fork('spreads');
    this.#tasks = new NormalDraws(random.fork('tasks'));
  }

  /** Draws the task durations of one job in seconds. */
  drawDurations(): Float64Array {
    const { tasks, bandIndex } = this.#drawSize();
    const band = this.#bands[bandIndex]!;
    const meanSeconds = quantile(MEAN_QUANTILES, band.meanSeconds, this.#means[bandIndex]!.draw());
    return this.#durations(tasks, meanSeconds, band);
  }

  /** Draws task durations with a given mean, and a number of tasks within bounds. */
  drawTasks(meanSeconds: number, least: number, most: number): Float64Array {
    for (;;) {
      const { tasks, bandIndex } = this.#drawSize();
      if (tasks < least || tasks > most) continue;
      return this.#durations(tasks, meanSeconds, this.#bands[bandIndex]!);
    }
  }

  #durations(tasks: number, meanSeconds: number, { spread: table }: SizeBand): Float64Array {
    if (table === undefined || tasks === 1) return new Float64Array(tasks).fill(microseconds(meanSeconds));
    const spread = quantile(SPREAD_QUANTILES, table, this.#spreads.next());
    return logNormalDurations(tasks, meanSeconds, spread, this.#tasks);
  }

  #drawSize(): { tasks: number; bandIndex: number } {
    const share = this.#sizes.draw();
    let smallest = 1;
    let shareBelow = 0;
    for (const [bandIndex, band] of this.#bands.entries()) {
      for (const [largest, cumulativeShare] of band.sizes) {
        if (share < cumulativeShare) {
          const within = (share - shareBelow) / (cumulativeShare - shareBelow);
          return { tasks: smallest + Math.floor(within * (largest + 1 - smallest)), bandIndex };
        }
        smallest = largest + 1;
        shareBelow = cumulativeShare;
      }
    }
    throw new Error(`the size table ends at ${shareBelow}, below ${share}`);
  }
}

/** Draws the tasks of a job with a given mean run time. Their number is typical of similar jobs, within bounds. */
export class GoogleLikeTasks {
  readonly #short: JobClass;
  readonly #long: JobClass;

  constructor(random: Random) {
    this.#short = new JobClass(SHORT_JOBS, random.fork('short'));
    this.#long = new JobClass(LONG_JOBS, random.fork('long'));
  }

  /** @returns run times in seconds */
  draw(meanSeconds: number, least: number, most: number): Float64Array {
    const of = meanSeconds <= SHORT_MAX_SECONDS ? this.#short : this.#long;
    return of.drawTasks(meanSeconds, least, most);
  }
}

/**
 * `tasks` log-normal durations with exactly the given mean and nearly the given spread (standard deviation over
 * mean). The normal draws are standardized first; otherwise the many jobs with few tasks would spread less than
 * requested. Log-normal durations reproduce the percentiles of the trace's task durations from each job's size, mean
 * and spread.
 */
function logNormalDurations(
  tasks: number,
  meanSeconds: number,
  spread: number,
  normal: NormalDraws,
): Float64Array {
  const values = new Float64Array(tasks);
  for (let i = 0; i < tasks; i++) values[i] = normal.next();
  const centre = sumOf(values) / tasks;
  let squares = 0;
  for (let i = 0; i < tasks; i++) squares += (values[i]! - centre) ** 2;
  const scale = Math.sqrt(Math.log1p(spread * spread) / (squares / tasks || 1));
  for (let i = 0; i < tasks; i++) values[i] = Math.exp(scale * (values[i]! - centre));
  const factor = meanSeconds / (sumOf(values) / tasks);
  for (let i = 0; i < tasks; i++) values[i] = microseconds(values[i]! * factor);
  return values;
}

/** Value at quantile `at` of a table, log-linear between its entries. */
function quantile(quantiles: readonly number[], values: readonly number[], at: number): number {
  let i = 1;
  while (quantiles[i]! < at) i++;
  const low = values[i - 1]!;
  const within = (at - quantiles[i - 1]!) / (quantiles[i]! - quantiles[i - 1]!);
  return low * (values[i]! / low) ** within;
}

/** Mean of the distribution from which `quantile` draws: the integral of each exponential segment. */
function logLinearMean(quantiles: readonly number[], values: readonly number[]): number {
  let mean = 0;
  for (let i = 1; i < values.length; i++) {
    const low = values[i - 1]!;
    const high = values[i]!;
    const pieceMean = high === low ? low : (high - low) / Math.log(high / low);
    mean += (quantiles[i]! - quantiles[i - 1]!) * pieceMean;
  }
  return mean;
}
