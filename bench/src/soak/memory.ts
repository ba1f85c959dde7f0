import { type Millis, meanOf, slopeOf } from '@goshawk/core';
import { residentMebibytes } from '../proc.js';

type MemorySample = readonly [atMs: Millis, mebibytes: number];

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

  /** @param fromMs ignores earlier samples, because starting processes grow */
  slopes(fromMs: Millis): Record<string, { meanMebibytes: number; mebibytesPerMinute: number }> {
    const slopes: Record<string, { meanMebibytes: number; mebibytesPerMinute: number }> = {};
    for (const [group, all] of this.#samples) {
      const samples = all.filter(([atMs]) => atMs >= fromMs);
      slopes[group] = {
        meanMebibytes: meanOf(samples, ([, mebibytes]) => mebibytes),
        mebibytesPerMinute: samples.length < 2 ? 0 : 60_000 * slopeOf(samples),
      };
    }
    return slopes;
  }
}
