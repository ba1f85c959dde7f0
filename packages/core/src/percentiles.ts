/**
 * The percentile by nearest rank: the least value such that at least `percent` of all values are no
 * greater. No interpolation, so the result is a value that was seen.
 *
 * @param sorted ascending
 * @param percent in (0, 100]
 * @returns NaN for no values
 */
export function nearestRank(sorted: ArrayLike<number>, percent: number): number {
  if (sorted.length === 0) return Number.NaN;
  return sorted[Math.max(0, Math.ceil((percent * sorted.length) / 100) - 1)]!;
}
