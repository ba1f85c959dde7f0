import type { CountedSeries, Series } from './comparison.js';
import type { CounterReading } from './job-result.js';

/** Wider than any chart, and for a run of the whole Google trace a tenth of a megabyte of JSON at most. */
export const SERIES_POINTS_MAX = 500;

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
  const count = snapshots.busySlots.length;
  const stride = Math.max(1, Math.ceil(count / SERIES_POINTS_MAX));
  const ends = Array.from({ length: Math.ceil(count / stride) }, (_, point) =>
    Math.min(count, (point + 1) * stride),
  );
  const means = (levels: Levels) => ends.map((end, point) => meanOf(levels, point * stride, end));
  const byClass = ({ short, long }: { readonly short: Levels; readonly long: Levels }) => ({
    short: means(short),
    long: means(long),
  });
  return {
    intervalSeconds: intervalSeconds * stride,
    seconds: ends.map((end) => rounded(end * intervalSeconds)),
    busySlots: means(snapshots.busySlots),
    waitingTasks: byClass(snapshots.waitingTasks),
    jobsUnderway: byClass(snapshots.jobsUnderway),
    counted,
  };
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
