import { type LineLook, sentinel } from './palette.js';

export type Point = readonly [x: number, y: number];

const MARKERS_A_LINE = 5;
const MARKER_SIZE = 7;
const TOPMOST = 100;

/** One policy's line, with a few markers along it, set off from those of the other lines. */
export function lineSeries(points: readonly Point[], look: LineLook, index: number) {
  const marked = markedPoints(points, index);
  return {
    type: 'line',
    // The first policy is the one in question: where lines coincide, it lies on top.
    z: TOPMOST - index,
    lineStyle: {
      color: sentinel(look.color),
      width: 2,
      type: look.dash.length === 0 ? 'solid' : [...look.dash],
    },
    itemStyle: { color: sentinel(look.color) },
    symbol: 'none',
    showSymbol: true,
    showAllSymbol: true,
    // One symbol entry a point would treble the input for nothing: only marked points are objects.
    data: points.map((point, at) =>
      marked.has(at) ? { value: [...point], symbol: look.marker, symbolSize: MARKER_SIZE } : [...point],
    ),
  } as const;
}

/** Indices spread evenly over the line, shifted a little for each line so that markers do not coincide. */
function markedPoints(points: readonly Point[], index: number): Set<number> {
  const shift = ((index % 4) + 1) / 5;
  const marked = Array.from({ length: MARKERS_A_LINE }, (_, at) =>
    Math.floor(((at + shift) / MARKERS_A_LINE) * points.length),
  );
  return new Set(marked.filter((at) => at < points.length));
}

/**
 * At most `count` points for a series over time: each stands for a stretch of equal length, at its middle,
 * with the stretch's mean or its greatest value.
 */
export function thinned(points: readonly Point[], count: number, of: 'mean' | 'max'): Point[] {
  if (points.length <= count) return [...points];
  return Array.from({ length: count }, (_, bucket): Point => {
    const stretch = points.slice(
      Math.floor((bucket * points.length) / count),
      Math.floor(((bucket + 1) * points.length) / count),
    );
    const values = stretch.map(([, value]) => value);
    const value =
      of === 'max' ? Math.max(...values) : values.reduce((sum, each) => sum + each, 0) / values.length;
    return [stretch[Math.floor(stretch.length / 2)]![0], value];
  });
}
