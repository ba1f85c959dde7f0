import { type Millis, meanOf, slopeOf } from '@goshawk/core';
import { residentMebibytes } from '../proc.js';

type MemorySample = readonly [atMs: Millis, mebibytes: number];

export interface MemoryTrend {
  readonly meanMebibytes: number;
  readonly mebibytesPerMinute: number;
  /** Means of the three thirds of the run, MiB. */
  readonly thirds: readonly number[];
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

  /** The mean and slope leave out the first third of a run of `ms`, because starting processes grow. */
  trends(ms: Millis): Record<string, MemoryTrend> {
    const trends: Record<string, MemoryTrend> = {};
    for (const [group, all] of this.#samples) {
      const samples = all.filter(([atMs]) => atMs >= ms / 3);
      const thirds = byThird(all, ms, ([atMs]) => atMs);
      trends[group] = {
        meanMebibytes: meanOf(samples, ([, mebibytes]) => mebibytes),
        mebibytesPerMinute: samples.length < 2 ? 0 : 60_000 * slopeOf(samples),
        thirds: thirds.map((third) => meanOf(third, ([, mebibytes]) => mebibytes)),
      };
    }
    return trends;
  }
}

/** Divides items into the three thirds of a run of `ms`; later items count for the last one. */
export function byThird<T>(items: readonly T[], ms: Millis, atMs: (item: T) => Millis): T[][] {
  const thirds: T[][] = [[], [], []];
  for (const item of items) thirds[Math.min(2, Math.floor((3 * atMs(item)) / ms))]!.push(item);
  return thirds;
}
