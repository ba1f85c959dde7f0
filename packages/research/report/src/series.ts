import type { CountedSeries, Series } from './comparison.js';
import type { CounterReading } from './job-result.js';

/** The limit keeps a run below about 50 kB of JSON, regardless of its length. */
export const SERIES_POINTS_MAX = 1_000;
/**
 * Most points cover the time until the run is settled. The rest can be ten times as long, as with Google's
 * trace, but only a few slots finish their last tasks in it.
 */
const LIVELY_POINTS_MAX = 800;
const SETTLED_SHARE = 0.95;

/** Levels of one kind at each snapshot: k · interval after the start, k ≥ 1. */
type Levels = ArrayLike<number>;

interface LevelsOverTime {
  readonly busySlots: Levels;
  readonly waitingTasks: { readonly short: Levels; readonly long: Levels };
  readonly jobsUnderway: { readonly short: Levels; readonly long: Levels };
}

/**
 * Puts the levels of a run into columns that are short enough to be stored with its results.
 *
 * @param submittedSeconds the last submission, since the start
 */
export function buildSeries(
  intervalSeconds: number,
  submittedSeconds: number,
  levels: LevelsOverTime,
  counted: CountedSeries | null,
): Series {
  const settled = settledAfter(Math.ceil(submittedSeconds / intervalSeconds), levels);
  const ends = stretches(levels.busySlots.length, settled);
  const means = (all: Levels) => ends.map((end, point) => meanOf(all, ends[point - 1] ?? 0, end));
  const byClass = ({ short, long }: { readonly short: Levels; readonly long: Levels }) => ({
    short: means(short),
    long: means(long),
  });
  return {
    submittedSeconds: rounded(submittedSeconds),
    settledSeconds: rounded(settled * intervalSeconds),
    seconds: ends.map((end) => rounded(end * intervalSeconds)),
    busySlots: means(levels.busySlots),
    waitingTasks: byClass(levels.waitingTasks),
    jobsUnderway: byClass(levels.jobsUnderway),
    counted,
  };
}

/** Returns the number of snapshots until all jobs are submitted and nearly all waiting is over. */
function settledAfter(
  submitted: number,
  { busySlots, waitingTasks: { short, long } }: LevelsOverTime,
): number {
  const { length } = busySlots;
  let total = 0;
  for (let index = 0; index < length; index += 1) total += short[index]! + long[index]!;
  let waited = 0;
  let count = 0;
  while (count < length && (count < submitted || waited < SETTLED_SHARE * total)) {
    waited += short[count]! + long[count]!;
    count += 1;
  }
  return count;
}

/** Returns the number of snapshots up to each point. */
function stretches(length: number, settled: number): number[] {
  if (length <= SERIES_POINTS_MAX) return evenly(0, length, SERIES_POINTS_MAX);
  const lively = Math.max(settled, LIVELY_POINTS_MAX);
  return [
    ...evenly(0, lively, LIVELY_POINTS_MAX),
    ...evenly(lively, length, SERIES_POINTS_MAX - LIVELY_POINTS_MAX),
  ];
}

function evenly(from: number, to: number, countMax: number): number[] {
  const stride = Math.max(1, Math.ceil((to - from) / countMax));
  return Array.from({ length: Math.ceil((to - from) / stride) }, (_, point) =>
    Math.min(to, from + (point + 1) * stride),
  );
}

/** Returns counts between readings of counters, reduced to a number that a chart can show. */
export function countedSeries(readings: readonly CounterReading[] | undefined): CountedSeries | null {
  if (readings === undefined || readings.length === 0) return null;
  const stride = Math.ceil(readings.length / SERIES_POINTS_MAX);
  const kept = readings.filter((_, index) => (index + 1) % stride === 0 || index === readings.length - 1);
  const since = (of: (reading: CounterReading) => number) =>
    kept.map((reading, index) => of(reading) - (index === 0 ? 0 : of(kept[index - 1]!)));
  return {
    seconds: kept.map(({ seconds }) => rounded(seconds)),
    stealAttempts: since(({ stealAttempts }) => stealAttempts),
    stealSuccesses: since(({ stealSuccesses }) => stealSuccesses),
    probesMoved: since(({ probesMoved }) => probesMoved),
    queuedEntries: kept.map(({ queuedEntries }) => queuedEntries ?? null),
  };
}

function meanOf(levels: Levels, from: number, to: number): number {
  let sum = 0;
  for (let index = from; index < to; index += 1) sum += levels[index]!;
  return rounded(sum / (to - from));
}

/**
 * Rounds to four digits; more would only lengthen the JSON, since snapshots are at least a millisecond apart.
 */
function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
