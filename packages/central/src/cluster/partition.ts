import type { PolicySettings } from '@goshawk/core';
/**
 * How many of so many workers are kept free of long tasks (Hawk §3.4).
 *
 * @param fraction of the workers, in [0, 1]
 * @param least so many in any case, for policies that let short jobs run nowhere else
 * @returns the nearest whole number, but never all of them, since long jobs must have somewhere to go
 */
export function shortPartitionSize(fraction: number, workers: number, least: number): number {
  return Math.max(0, Math.min(Math.max(least, Math.round(fraction * workers)), workers - 1));
}

export interface Labelled {
  /** In the short partition. */
  readonly short: boolean;
  /** Free of long tasks, so that it may become short at once. */
  readonly freeOfLong: boolean;
}

/**
 * Which workers change sides so that the short partition has its size again: as few as possible, those that
 * joined last first. A worker becomes short only while no long task is there; it can become general at any
 * time, because short tasks run anywhere. So the partition may be too small for a while, never too large.
 *
 * @param workers in the order in which they joined; looked at from the end, and no further than needed
 * @param short how many of them are short
 * @returns indices of the workers to relabel
 */
export function relabel(
  workers: { readonly length: number; at(index: number): Labelled | undefined },
  size: number,
  short: number,
): number[] {
  let excess = short - size;
  const changes: number[] = [];
  for (let i = workers.length - 1; i >= 0 && excess !== 0; i--) {
    const worker = workers.at(i)!;
    if (excess > 0 && worker.short) {
      changes.push(i);
      excess--;
    } else if (excess < 0 && !worker.short && worker.freeOfLong) {
      changes.push(i);
      excess++;
    }
  }
  return changes;
}

/** Workers that the short partition is to have, of those that take work. */
export function shortWanted(
  { preset, shortPartition }: PolicySettings,
  measured: () => number,
  active: number,
): number {
  if (!preset.partition) return 0;
  const fraction = shortPartition === 'auto' ? measured() : shortPartition;
  const least = preset.short.over === 'short' || preset.long.over === 'short' ? 1 : 0;
  return shortPartitionSize(fraction, active, least);
}
