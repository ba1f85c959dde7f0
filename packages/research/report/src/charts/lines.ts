import { sumOf } from '@goshawk/core';

export type Point = readonly [x: number, y: number];

/** A point whose value may be missing: the line has a gap there. */
export type GappedPoint = readonly [x: number, y: number | null];

/**
 * Reduces a series over time to at most `count` points. Each stands for an interval of equal length, at its
 * middle, with the interval's mean.
 */
export function thinned(points: readonly Point[], count: number): Point[] {
  if (points.length <= count) return [...points];
  return Array.from({ length: count }, (_, bucket): Point => {
    const stretch = points.slice(
      Math.floor((bucket * points.length) / count),
      Math.floor(((bucket + 1) * points.length) / count),
    );
    const sum = sumOf(stretch, ([, value]) => value);
    return [stretch[Math.floor(stretch.length / 2)]![0], sum / stretch.length];
  });
}
