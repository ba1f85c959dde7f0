import { present } from '@goshawk/core';
import type {
  ByClass,
  ByClassAndAll,
  Messages,
  OptionValues,
  PlanningResults,
  PredictorAccuracy,
  Run,
  Steals,
} from './comparison.js';
import { type Distribution, pooled, summariseSorted } from './distribution.js';
import type { JobTimes } from './intervals.js';
import type { CounterReading, JobResult, RunSetup } from './job-result.js';
import { type JobRow, jobRow } from './job-row.js';
import { type PredictedJob, PredictorTally } from './predictor-tally.js';
import { RunTally } from './tally.js';

/** Facts of a finished run besides its jobs. */
export interface RunFacts {
  readonly seed: number;
  readonly options: OptionValues;
  readonly messages: Messages;
  readonly steals: Steals;
  readonly predictor?: PredictorAccuracy | null;
  readonly events?: number | null;
  readonly wallSeconds: number;
  readonly peakRssBytes?: number | null;
  /** Readings in order of time. */
  readonly readings?: readonly CounterReading[];
  readonly planning?: PlanningResults | undefined;
}

/** Data that is too long for a comparison: every run time. */
export interface RunSeries {
  readonly policy: string;
  /** Run times in seconds, in any order. */
  readonly shortRuntimes: readonly number[] | Float64Array;
  readonly longRuntimes: readonly number[] | Float64Array;
}

interface MeterSetup extends RunSetup {
  readonly seed: number;
  readonly cutoffSeconds: number;
  /** Number of jobs in the workload. */
  readonly jobs: number;
  /** Whether to record every detail of each job. */
  readonly needsRecords?: boolean | undefined;
}

/** Measures a live or simulated run as its jobs end. */
export class RunMeter {
  readonly times: JobTimes;
  /** Records in order of job ends; empty unless requested. */
  readonly records: JobRow[] = [];
  readonly #tally: RunTally;
  readonly #predictor: PredictorTally;
  readonly #needsRecords: boolean;

  constructor({ seed, cutoffSeconds, jobs, needsRecords = false, ...setup }: MeterSetup) {
    this.#tally = new RunTally(setup);
    this.#predictor = new PredictorTally(cutoffSeconds);
    this.#needsRecords = needsRecords;
    const { policy } = setup;
    const runtimeSeconds = new Float64Array(jobs).fill(Number.NaN);
    this.times = { policy, seed, runtimeSeconds, isLong: new Uint8Array(jobs) };
  }

  /**
   * Adds an ended job.
   *
   * @param place in the workload, from 0
   * @throws MeasurementError if times are not finite, go backwards, or a completed job lacks a task
   */
  add(place: number, result: JobResult, judged: PredictedJob): void {
    this.#tally.add(result);
    this.#predictor.add(judged);
    const { policy, seed, runtimeSeconds, isLong } = this.times;
    isLong[place] = result.class === 'long' ? 1 : 0;
    if (result.outcome === 'completed') runtimeSeconds[place] = result.runtimeSeconds;
    if (this.#needsRecords) this.records.push(jobRow({ policy, seed, job: place + 1 }, result, judged));
  }

  /** Adds a job that occupies slots and waits, but is left out of the results. @throws as `add` */
  addUncounted(result: JobResult): void {
    this.#tally.addUncounted(result);
  }

  /** Returns the accuracy of the estimator. */
  accuracy(): PredictorAccuracy {
    return this.#predictor.accuracy();
  }

  finish(facts: Omit<RunFacts, 'seed'>): { run: Run; series: RunSeries } {
    return finishRun(this.#tally, { ...facts, seed: this.times.seed });
  }
}

/**
 * Converts the tally of a run into its entry of a comparison and the series for its charts.
 *
 * Run times are those of completed jobs; queueing counts every task that started. Utilisation is exact;
 * series are sampled at `k · snapshotIntervalSeconds` after the start, k ≥ 1, until the last task ends.
 */
export function finishRun(tally: RunTally, facts: RunFacts): { run: Run; series: RunSeries } {
  const { policy } = tally;
  const { seed, options, messages, steals, wallSeconds } = facts;
  const events = facts.events ?? null;
  const runtimes = { short: tally.runtimes.short.sorted(), long: tally.runtimes.long.sorted() };
  const { deadlines, staged } = tally;
  const run: Run = {
    policy,
    seed,
    options,
    jobs: tally.jobs,
    tasks: tally.tasks,
    runtimeSeconds: distributions(runtimes),
    queueingSeconds: distributions({
      short: tally.queueing.short.sorted(),
      long: tally.queueing.long.sorted(),
    }),
    utilisation: tally.utilisation(),
    timeParts: tally.timeParts(),
    messages,
    steals,
    series: tally.series(facts.readings),
    predictor: facts.predictor ?? null,
    ...present({ deadlines, staged, planning: facts.planning }),
    events,
    wallSeconds,
    eventsPerSecond: events === null || wallSeconds <= 0 ? null : events / wallSeconds,
    peakRssBytes: facts.peakRssBytes ?? null,
  };
  return { run, series: { policy, shortRuntimes: runtimes.short, longRuntimes: runtimes.long } };
}

function distributions(ascending: ByClass<Float64Array>): ByClassAndAll<Distribution> {
  return {
    short: summariseSorted(ascending.short),
    long: summariseSorted(ascending.long),
    all: summariseSorted(pooled([ascending.short, ascending.long])),
  };
}
