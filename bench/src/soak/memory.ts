import { readFileSync } from 'node:fs';
import { type Millis, meanOf, sumOf } from '@goshawk/core';

interface MemorySample {
  readonly atMs: Millis;
  readonly mebibytes: number;
}

/** Resident memory of a process, in MiB; undefined when it is gone. Linux only. */
function residentMebibytesOf(pid: number): number | undefined {
  try {
    const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1_024;
  } catch {
    return undefined;
  }
}

/** The slope of the line through the samples by least squares, in MiB a minute; 0 for fewer than two of them. */
export function slopeOf(samples: readonly MemorySample[]): number {
  const count = samples.length;
  const meanAt = sumOf(samples, ({ atMs }) => atMs) / count;
  const mean = sumOf(samples, ({ mebibytes }) => mebibytes) / count;
  let covariance = 0;
  let variance = 0;
  for (const { atMs, mebibytes } of samples) {
    covariance += (atMs - meanAt) * (mebibytes - mean);
    variance += (atMs - meanAt) ** 2;
  }
  return variance === 0 || count < 2 ? 0 : (covariance / variance) * 60_000;
}

/**
 * Resident memory over the time of a run, mean of the processes of each group: they come and go, and what matters is
 * whether those that are there late take more than those that were there early.
 */
export class MemoryWatch {
  readonly #samples = new Map<string, MemorySample[]>();

  sample(atMs: Millis, processes: Iterable<{ readonly group: string; readonly pid: number }>): void {
    const byGroup = new Map<string, number[]>();
    for (const { group, pid } of processes) {
      const mebibytes = residentMebibytesOf(pid);
      if (mebibytes !== undefined) byGroup.set(group, [...(byGroup.get(group) ?? []), mebibytes]);
    }
    for (const [group, each] of byGroup) {
      const mebibytes = meanOf(each);
      const samples = this.#samples.get(group) ?? [];
      this.#samples.set(group, samples);
      samples.push({ atMs, mebibytes });
    }
  }

  /** @param fromMs what was sampled before is not looked at: processes that start grow */
  slopes(fromMs: Millis): Record<string, { meanMebibytes: number; mebibytesPerMinute: number }> {
    const slopes: Record<string, { meanMebibytes: number; mebibytesPerMinute: number }> = {};
    for (const [group, all] of this.#samples) {
      const samples = all.filter(({ atMs }) => atMs >= fromMs);
      const sum = sumOf(samples, ({ mebibytes }) => mebibytes);
      slopes[group] = { meanMebibytes: sum / samples.length, mebibytesPerMinute: slopeOf(samples) };
    }
    return slopes;
  }
}
