import { type Millis, meanOf, slopeOf } from '@goshawk/core';
import { residentMebibytes } from '../proc.js';

type MemorySample = readonly [atMs: Millis, mebibytes: number];

export interface MemoryTrend {
  readonly meanMebibytes: number;
  readonly mebibytesPerMinute: number;
  /** Means of the four quarters of the run, MiB. */
  readonly quarters: readonly number[];
}

/**
 * Resident memory over the time of a run, averaged over the processes of each group. Single processes come and go; the
 * trend of the average shows leaks.
 */
export class MemoryWatch {
  readonly #samples = new Map<string, MemorySample[]>();

  sample(atMs: Millis, processes: Iterable<{ readonly group: string; readonly pid: number }>): void {
    const byGroup = new Map<string, number[]>();
    for (const { group, pid } of processes) {
      const mebibytes = residentMebibytes(pid);
      if (!Number.isNaN(mebibytes)) byGroup.set(group, [...(byGroup.get(group) ?? []), mebibytes]);
    }
    for (const [group, each] of byGroup) {
      const samples = this.#samples.get(group) ?? [];
      this.#samples.set(group, samples);
      samples.push([atMs, meanOf(each)]);
    }
  }

  /** The mean and slope leave out the first quarter of a run of `ms`, because starting processes grow. */
  trends(ms: Millis): Record<string, MemoryTrend> {
    const trends: Record<string, MemoryTrend> = {};
    for (const [group, all] of this.#samples) {
      const samples = all.filter(([atMs]) => atMs >= ms / 4);
      const quarters = byQuarter(all, ms, ([atMs]) => atMs);
      trends[group] = {
        meanMebibytes: meanOf(samples, ([, mebibytes]) => mebibytes),
        mebibytesPerMinute: samples.length < 2 ? 0 : 60_000 * slopeOf(samples),
        quarters: quarters.map((quarter) => meanOf(quarter, ([, mebibytes]) => mebibytes)),
      };
    }
    return trends;
  }
}

/** Divides items into the four quarters of a run of `ms`; later items count for the last one. */
export function byQuarter<T>(items: readonly T[], ms: Millis, atMs: (item: T) => Millis): T[][] {
  const quarters: T[][] = [[], [], [], []];
  for (const item of items) quarters[Math.min(3, Math.floor((4 * atMs(item)) / ms))]!.push(item);
  return quarters;
}
