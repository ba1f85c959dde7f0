import { sumOf } from '@goshawk/core';
import { color, type LineLook } from './palette.js';

export type Point = readonly [x: number, y: number];

/** A point whose value may be missing: the line has a gap there. */
export type GappedPoint = readonly [x: number, y: number | null];

/**
 * How values along a line are joined. With `steps` each value applies to the time since the previous one;
 * `points` are not joined, for example the values that a paper states.
 */
export type Drawn = 'line' | 'steps' | 'points';

const MARKERS_A_LINE = 5;
const MARKED_THROUGHOUT_MAX = 16;
const MARKER_SIZE = 7;
/** Lone markers are larger, because no line leads the eye to them. */
const LONE_MARKER_SIZE = 10;
const TOPMOST = 100;

/**
 * One line of a chart. A short line has a marker on each point; a longer line has a few, shifted from those
 * of the other lines.
 */
export function lineSeries(
  points: readonly GappedPoint[],
  look: LineLook,
  index: number,
  drawn: Drawn = 'line',
) {
  const isMarkedThroughout = drawn === 'points' || points.length <= MARKED_THROUGHOUT_MAX;
  const marked = isMarkedThroughout ? new Set(points.keys()) : markedPoints(points, index);
  return {
    type: 'line',
    // The first policy is the subject of the comparison, so its line is on top.
    z: TOPMOST - index,
    lineStyle: {
      color: color(look.color),
      width: drawn === 'points' ? 0 : 2,
      type: look.dash.length === 0 ? 'solid' : [...look.dash],
    },
    // The line goes up or down at the previous point, and then across.
    step: drawn === 'steps' ? 'start' : false,
    itemStyle: { color: color(look.color) },
    symbol: 'none',
    showSymbol: true,
    showAllSymbol: true,
    // Only marked points are objects, since an object per point would triple the input.
    data: points.map((point, at) =>
      marked.has(at)
        ? {
            value: [...point],
            symbol: look.marker,
            symbolSize: drawn === 'points' ? LONE_MARKER_SIZE : MARKER_SIZE,
          }
        : [...point],
    ),
  } as const;
}

/** Indices spread evenly over the line, shifted a little for each line so that markers do not coincide. */
function markedPoints(points: readonly GappedPoint[], index: number): Set<number> {
  const shift = ((index % 4) + 1) / 5;
  const marked = Array.from({ length: MARKERS_A_LINE }, (_, at) =>
    Math.floor(((at + shift) / MARKERS_A_LINE) * points.length),
  );
  return new Set(marked.filter((at) => at < points.length));
}

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
