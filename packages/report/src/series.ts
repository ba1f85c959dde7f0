import type { CountedSeries, Series } from './comparison.js';
import type { CounterReading } from './job-result.js';

/** Some 50 kB of JSON a run at most, however long it was. */
export const SERIES_POINTS_MAX = 1_000;
/**
 * Most points are for the time in which there is something to see. What follows can be ten times as long, as
 * it is under Google's trace, and is a few slots that finish their last tasks.
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
 * Puts the levels of a run into columns that are short enough to be kept with its numbers.
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

/** How many snapshots it takes until all jobs have been submitted and nearly all waiting is over. */
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

/** How many snapshots each point and those before it stand for. */
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

/** Counts between readings of counters, thinned to what a chart can show. */
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

/** More digits would only make the JSON longer: live runs have snapshots each millisecond at the least. */
function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
