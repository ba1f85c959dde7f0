import {
  type ByClass,
  percentileOfSorted,
  pooled,
  type Run,
  type RunSeries,
  summarisePolicies,
} from '@goshawk/report';
import type { Tick } from './axis.js';
import { meanPlanned, plannedOf } from './deadlines.js';
import {
  estimateAccuracy,
  type JobDetails,
  ratioCourse,
  ratioShares,
  speedup,
  waitShares,
  windowLoad,
} from './jobwise.js';
import { type Measured, type Pair, type Paired, type Point, pairName } from './point.js';

/** Jobs in the order of the workload; NaN for jobs that did not complete or are not counted. */
export interface JobTimes {
  readonly runtimeSeconds: Float64Array;
  /** 1 if the job's true mean task run time reaches the cutoff. */
  readonly isLong: Uint8Array;
  readonly details?: JobDetails;
}

/** One finished run of a variant. */
export interface FinishedRun {
  readonly run: Run;
  readonly series: RunSeries;
  /** Only for variants that are compared job by job. */
  readonly jobs?: JobTimes;
}

const PERCENTS = Array.from({ length: 101 }, (_, percent) => percent);

/**
 * Run times that differ by less than this fraction are equal: their schedules differ only by some messages of
 * 0.5 ms.
 */
const EQUAL_WITHIN = 0.001;

/**
 * Averages the runs at one point of the axis over their seeds.
 *
 * @param runs by variant; each with the same seeds, in the same order
 */
export function pointOf(
  tick: Tick,
  runs: Readonly<Record<string, readonly FinishedRun[]>>,
  pairs: readonly Pair[] = [],
): Point {
  const measured = Object.entries(runs).map(([name, finished]) => [name, measure(finished)] as const);
  const paired = pairs.map(({ of, over }) => [pairName(of, over), compare(runs[of]!, runs[over]!)] as const);
  return {
    tick,
    measured: Object.fromEntries(measured),
    paired: Object.fromEntries(paired),
    ...jobByJob(runs, pairs),
    ...ofDeadlines(runs),
  };
}

/** Averages deadline results, if jobs have deadlines. */
function ofDeadlines(runs: Readonly<Record<string, readonly FinishedRun[]>>): Pick<Point, 'planned'> {
  const planned = known(runs, (finished) => {
    const all = finished.flatMap(({ run }) => plannedOf(run) ?? []);
    return all.length === 0 ? undefined : meanPlanned(all);
  });
  return Object.keys(planned).length === 0 ? {} : { planned };
}

/** Computes a value for each entry, and leaves out entries without one. */
function known<From, To>(
  of: Readonly<Record<string, From>>,
  compute: (from: From) => To | undefined,
): Record<string, To> {
  return Object.fromEntries(
    Object.entries(of).flatMap(([name, from]) => {
      const value = compute(from);
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}

/** Computes the results that need individual jobs. */
function jobByJob(
  runs: Readonly<Record<string, readonly FinishedRun[]>>,
  pairs: readonly Pair[],
): Pick<Point, 'speedups' | 'waits' | 'loads' | 'accuracy' | 'ratios' | 'ratioCourses'> {
  if (pairs.length === 0) return {};
  const paired = Object.fromEntries(pairs.map((pair) => [pairName(pair.of, pair.over), pair]));
  return {
    speedups: known(paired, ({ of, over }) => speedup(runs[of]!, runs[over]!)),
    waits: known(paired, ({ of, over }) => waitShares(runs[of]!, runs[over]!)),
    loads: known(runs, (finished) => {
      const slots = finished[0]?.run.options.workers;
      return typeof slots === 'number' ? windowLoad(finished, slots) : undefined;
    }),
    accuracy: known(runs, estimateAccuracy),
    ratios: known(runs, ratioShares),
    ratioCourses: known(runs, ratioCourse),
  };
}

function measure(finished: readonly FinishedRun[]): Measured {
  const [summary] = summarisePolicies({ runs: finished.map(({ run }) => run) });
  return {
    runtimeSeconds: summary!.runtimeSeconds,
    // A run ends with its last task, days after the last submission. The median over the whole run would
    // describe that end.
    busy: summary!.utilisation.whileSubmitting,
    percentiles: new LazyPercentiles(finished.map(({ series }) => series)),
  };
}

/** Pools run times only when they are read, because resamples rarely need them. */
class LazyPercentiles implements ByClass<readonly number[]> {
  readonly #series: readonly RunSeries[];
  #short: readonly number[] | undefined;
  #long: readonly number[] | undefined;

  constructor(series: readonly RunSeries[]) {
    this.#series = series;
  }

  get short(): readonly number[] {
    this.#short ??= percentilesOf(pooled(this.#series.map(({ shortRuntimes }) => shortRuntimes)));
    return this.#short;
  }

  get long(): readonly number[] {
    this.#long ??= percentilesOf(pooled(this.#series.map(({ longRuntimes }) => longRuntimes)));
    return this.#long;
  }
}

/** All integer percentiles, 0 to 100; empty without values. */
export function percentilesOf(sorted: Float64Array): number[] {
  return sorted.length === 0 ? [] : PERCENTS.map((percent) => percentileOfSorted(sorted, percent)!);
}

/** Compares run by run, because the jobs differ between seeds. */
function compare(of: readonly FinishedRun[], over: readonly FinishedRun[]): ByClass<Paired | null> {
  const counts = { short: newCount(), long: newCount() };
  for (const [index, { jobs }] of of.entries()) {
    const others = over[index]?.jobs;
    if (jobs === undefined || others === undefined) continue;
    for (let job = 0; job < jobs.runtimeSeconds.length; job++) {
      const ours = jobs.runtimeSeconds[job]!;
      const theirs = others.runtimeSeconds[job]!;
      if (Number.isNaN(ours) || Number.isNaN(theirs)) continue;
      count(counts[jobs.isLong[job] === 1 ? 'long' : 'short'], ours, theirs);
    }
  }
  return { short: shares(counts.short), long: shares(counts.long) };
}

function newCount() {
  return { jobs: 0, improved: 0, improvedByHalf: 0, betterOrEqual: 0 };
}

function count(counts: ReturnType<typeof newCount>, ours: number, theirs: number): void {
  const isEqual = Math.abs(ours - theirs) <= EQUAL_WITHIN * Math.max(ours, theirs);
  counts.jobs++;
  if (!isEqual && ours < theirs) counts.improved++;
  if (ours < theirs / 2) counts.improvedByHalf++;
  if (isEqual || ours < theirs) counts.betterOrEqual++;
}

function shares({ jobs, ...counts }: ReturnType<typeof newCount>): Paired | null {
  if (jobs === 0) return null;
  return {
    improved: counts.improved / jobs,
    improvedByHalf: counts.improvedByHalf / jobs,
    betterOrEqual: counts.betterOrEqual / jobs,
  };
}
