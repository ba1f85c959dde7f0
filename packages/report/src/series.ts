import type { CountedSeries, Series } from './comparison.js';
import type { CounterReading } from './job-result.js';

/** Some 50 kB of JSON a run, however long it was. */
export const SERIES_POINTS_MAX = 1_000;
/**
 * Most points are for the time in which nearly all work was done. What follows can be ten times as long, as it
 * is under Google's trace, and is a few slots that finish their last tasks.
 */
const BUSY_POINTS_MAX = 800;
const BUSY_SHARE = 0.99;

/** Levels of one kind at each snapshot: k · interval after the start, k ≥ 1. */
export type Levels = ArrayLike<number>;

/** Puts the levels of a run into columns that are short enough to be kept with its numbers. */
export function buildSeries(
  intervalSeconds: number,
  snapshots: {
    readonly busySlots: Levels;
    readonly waitingTasks: { readonly short: Levels; readonly long: Levels };
    readonly jobsUnderway: { readonly short: Levels; readonly long: Levels };
  },
  counted: CountedSeries | null,
): Series {
  const ends = stretches(snapshots.busySlots);
  const means = (levels: Levels) => ends.map((end, point) => meanOf(levels, ends[point - 1] ?? 0, end));
  const byClass = ({ short, long }: { readonly short: Levels; readonly long: Levels }) => ({
    short: means(short),
    long: means(long),
  });
  return {
    seconds: ends.map((end) => rounded(end * intervalSeconds)),
    busySlots: means(snapshots.busySlots),
    waitingTasks: byClass(snapshots.waitingTasks),
    jobsUnderway: byClass(snapshots.jobsUnderway),
    counted,
  };
}

/** How many snapshots each point and those before it stand for. */
function stretches(busySlots: Levels): number[] {
  const { length } = busySlots;
  if (length <= SERIES_POINTS_MAX) return evenly(0, length, SERIES_POINTS_MAX);
  const busy = countUntilShare(busySlots, BUSY_SHARE);
  return [...evenly(0, busy, BUSY_POINTS_MAX), ...evenly(busy, length, SERIES_POINTS_MAX - BUSY_POINTS_MAX)];
}

function evenly(from: number, to: number, countMax: number): number[] {
  const stride = Math.max(1, Math.ceil((to - from) / countMax));
  return Array.from({ length: Math.ceil((to - from) / stride) }, (_, point) =>
    Math.min(to, from + (point + 1) * stride),
  );
}

/** How many of the levels it takes until they add up to a share of what all do. */
export function countUntilShare(levels: Levels, share: number): number {
  let total = 0;
  for (let index = 0; index < levels.length; index += 1) total += levels[index]!;
  let sum = 0;
  let count = 0;
  while (count < levels.length && sum < share * total) sum += levels[count++]!;
  return count;
}

/** What happened between readings of counters, of which no more than a chart can show are kept. */
export function countedSeries(
  readings: readonly CounterReading[] | undefined,
  startSeconds: number,
): CountedSeries | null {
  if (readings === undefined || readings.length === 0) return null;
  const stride = Math.ceil(readings.length / SERIES_POINTS_MAX);
  const kept = readings.filter((_, index) => (index + 1) % stride === 0 || index === readings.length - 1);
  const since = (of: (reading: CounterReading) => number) =>
    kept.map((reading, index) => of(reading) - (index === 0 ? 0 : of(kept[index - 1]!)));
  return {
    seconds: kept.map(({ seconds }) => rounded(seconds - startSeconds)),
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
