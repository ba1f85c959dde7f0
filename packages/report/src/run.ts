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
import { type Distribution, mergeSorted, summariseSorted } from './distribution.js';
import type { CounterReading, JobResult, RunSetup } from './job-result.js';
import { RunTally } from './tally.js';

/** What is known of a run when it is over, beside its jobs. */
interface RunFacts {
  readonly seed: number;
  readonly options: OptionValues;
  readonly messages: Messages;
  readonly steals: Steals;
  readonly predictor?: PredictorAccuracy | null;
  readonly events?: number | null;
  readonly wallSeconds: number;
  readonly peakRssBytes?: number | null;
  /** In the order of time. */
  readonly readings?: readonly CounterReading[];
  readonly planning?: PlanningResults | undefined;
}

export interface RunMeasurements extends RunSetup, RunFacts {
  /** Read once, in any order, so a generator will do. */
  readonly jobs: Iterable<JobResult>;
}

/** What is too long for a comparison: every run time. */
export interface RunSeries {
  readonly policy: string;
  /** Seconds, in any order. */
  readonly shortRuntimes: readonly number[] | Float64Array;
  readonly longRuntimes: readonly number[] | Float64Array;
}

/**
 * Turns the results of a run's jobs into its entry of a comparison, and into the series for its charts.
 *
 * Run times are those of completed jobs; queueing counts every task that started. Utilisation and queue
 * length are looked at `k · snapshotIntervalSeconds` after the start, k ≥ 1, until the last task ends.
 *
 * @throws MeasurementError when times are not finite, go backwards, or a completed job lacks a task.
 */
export function buildRun(measurements: RunMeasurements): { run: Run; series: RunSeries } {
  const tally = new RunTally(measurements);
  for (const job of measurements.jobs) tally.add(job);
  return finishRun(tally, measurements);
}

/** The same for a run whose jobs were counted one by one as they ended. */
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
    all: summariseSorted(mergeSorted(ascending.short, ascending.long)),
  };
}
