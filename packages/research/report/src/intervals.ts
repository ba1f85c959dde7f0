import { Random } from '@goshawk/core';
import type { ByClass, Interval, IntervalMethod, JobClass, RatioStatistics } from './comparison.js';

/**
 * The run time of each job of a run, by its position in the workload, so that runs can be paired job by job.
 */
export interface JobTimes {
  readonly policy: string;
  readonly seed: number;
  /** NaN if the job did not complete or does not count. */
  readonly runtimeSeconds: Float64Array;
  /** The value 1 marks long jobs. */
  readonly isLong: Uint8Array;
}

const LEVEL = 0.95;
/** Consecutive jobs wait for the same tasks, so they are drawn together in this many blocks. */
const BLOCKS = 100;
const RESAMPLES_MAX = 1_000;
const RESAMPLES_MIN = 100;
/** Limit for the steps of all resamples of a pair, which take about a second. */
const STEPS_MAX = 2e8;

export function intervalMethod(jobs: number, seeds: number): IntervalMethod {
  const affordable = Math.floor(STEPS_MAX / Math.max(1, 2 * jobs * seeds));
  const resamples = Math.min(RESAMPLES_MAX, Math.max(RESAMPLES_MIN, affordable));
  return { level: LEVEL, resamples, over: seeds > 1 ? 'jobs and seeds' : 'jobs' };
}

/**
 * Returns percentile intervals of the ratio of two policies' run times, by a paired bootstrap (Efron and
 * Tibshirani 1993, chapters 13 and 16). It draws seeds with replacement if there are several, then blocks of
 * consecutive jobs, the same ones for both policies. The same input gives the same intervals.
 *
 * @param pairs the runs of both policies under one seed, for each seed that both ran
 * @returns null for a class that has no jobs in some resample
 */
export function ratioIntervals(
  pairs: readonly (readonly [JobTimes, JobTimes])[],
  { resamples }: IntervalMethod,
): ByClass<RatioStatistics<Interval | null>> {
  const of = (name: JobClass) => {
    const samples = pairs.map(([one, other]) => [new Sample(one, name), new Sample(other, name)] as const);
    return intervalsOf(samples, resamples);
  };
  return { short: of('short'), long: of('long') };
}

function intervalsOf(
  pairs: readonly (readonly [Sample, Sample])[],
  resamples: number,
): RatioStatistics<Interval | null> {
  const random = Random.seeded('intervals');
  const weights = new Uint16Array(BLOCKS);
  const ratios = { p50: [] as number[], p90: [] as number[], mean: [] as number[] };
  for (let i = 0; i < resamples; i++) {
    const sums = [
      { p50: 0, p90: 0, mean: 0 },
      { p50: 0, p90: 0, mean: 0 },
    ] as const;
    for (let drawn = 0; drawn < pairs.length; drawn++) {
      const pair = pairs[Math.floor(random.next() * pairs.length)]!;
      weights.fill(0);
      for (let block = 0; block < BLOCKS; block++) weights[Math.floor(random.next() * BLOCKS)]!++;
      for (const [side, sample] of pair.entries()) sample.addTo(sums[side]!, weights);
    }
    for (const statistic of ['p50', 'p90', 'mean'] as const) {
      ratios[statistic].push(sums[0][statistic] / sums[1][statistic]);
    }
  }
  return { p50: middle(ratios.p50), p90: middle(ratios.p90), mean: middle(ratios.mean) };
}

/** Returns the interval without a share of (1 − LEVEL) / 2 at each end. */
function middle(values: number[]): Interval | null {
  if (values.some((value) => !Number.isFinite(value))) return null;
  values.sort((a, b) => a - b);
  const out = Math.floor(((1 - LEVEL) / 2) * values.length);
  return [values[out]!, values[values.length - 1 - out]!];
}

/** The jobs of one class of a run, sorted once by run time, so that a weighted percentile needs one pass. */
class Sample {
  readonly #seconds: Float64Array;
  readonly #blocks: Uint8Array;
  readonly #counts = new Float64Array(BLOCKS);
  readonly #sums = new Float64Array(BLOCKS);

  constructor({ runtimeSeconds, isLong }: JobTimes, of: JobClass) {
    const wanted = of === 'long' ? 1 : 0;
    const places: number[] = [];
    for (let job = 0; job < runtimeSeconds.length; job++) {
      if (isLong[job] === wanted && !Number.isNaN(runtimeSeconds[job]!)) places.push(job);
    }
    places.sort((a, b) => runtimeSeconds[a]! - runtimeSeconds[b]!);
    this.#seconds = Float64Array.from(places, (job) => runtimeSeconds[job]!);
    this.#blocks = Uint8Array.from(places, (job) => Math.floor((job * BLOCKS) / runtimeSeconds.length));
    for (let i = 0; i < places.length; i++) {
      this.#counts[this.#blocks[i]!]!++;
      this.#sums[this.#blocks[i]!]! += this.#seconds[i]!;
    }
  }

  /** Adds percentiles by nearest rank; each job counts as often as its block was drawn. */
  addTo(sums: { p50: number; p90: number; mean: number }, weights: Uint16Array): void {
    let total = 0;
    let sum = 0;
    for (let block = 0; block < BLOCKS; block++) {
      total += weights[block]! * this.#counts[block]!;
      sum += weights[block]! * this.#sums[block]!;
    }
    const [rank50, rank90] = [Math.ceil(0.5 * total), Math.ceil(0.9 * total)];
    let seen = 0;
    let p50 = Number.NaN;
    let at = 0;
    for (; at < this.#seconds.length && seen < rank90; at++) {
      const before = seen;
      seen += weights[this.#blocks[at]!]!;
      if (before < rank50 && seen >= rank50) p50 = this.#seconds[at]!;
    }
    sums.p50 += p50;
    sums.p90 += total === 0 ? Number.NaN : this.#seconds[at - 1]!;
    sums.mean += sum / total;
  }
}
