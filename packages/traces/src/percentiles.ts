/** Summary of a set of numbers. Percentiles are by nearest rank. */
export interface Distribution {
  readonly count: number;
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/**
 * The nearest-rank percentile: the least value that at least `percent` per cent of the values do not
 * exceed.
 * @param sorted ascending, not empty
 * @param percent in (0, 100]
 */
export function nearestRank(sorted: Float64Array, percent: number): number {
  // Rounded before ceil: 0.9 × 10 must be rank 9, however it comes out in binary.
  const rank = Math.ceil(Number(((percent / 100) * sorted.length).toFixed(6)));
  return sorted[Math.max(rank, 1) - 1]!;
}

/** Summary of values in any order, or undefined when there are none. Sorts the array in place. */
export function distributionOf(values: Float64Array): Distribution | undefined {
  if (values.length === 0) return undefined;
  values.sort();
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i]!;
  return {
    count: values.length,
    mean: total / values.length,
    p50: nearestRank(values, 50),
    p90: nearestRank(values, 90),
    p99: nearestRank(values, 99),
    max: values[values.length - 1]!,
  };
}
