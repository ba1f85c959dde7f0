import type { Point } from './lines.js';

const POINTS_MAX = 240;

/**
 * Returns the distribution as at most a few hundred points [value, share of the sample up to it]: even steps
 * of the share, and closer ones over the last twentieth, where the tail is. Values below `least` are drawn at
 * it, since a logarithm has no zero.
 */
export function cdf(ascending: Float64Array, least: number): Point[] {
  const x = (value: number) => Math.max(value, least);
  const points: Point[] = [[x(ascending[0]!), 0]];
  for (const rank of ranks(ascending.length)) points.push([x(ascending[rank - 1]!), rank / ascending.length]);
  return points;
}

function ranks(count: number): number[] {
  if (count <= POINTS_MAX) return Array.from({ length: count }, (_, index) => index + 1);
  const tail = POINTS_MAX / 4;
  const body = POINTS_MAX - tail;
  const shares = [
    ...Array.from({ length: body }, (_, index) => (0.95 * (index + 1)) / body),
    ...Array.from({ length: tail }, (_, index) => 0.95 + (0.05 * (index + 1)) / tail),
  ];
  return [...new Set(shares.map((share) => Math.max(1, Math.min(count, Math.round(share * count)))))];
}
