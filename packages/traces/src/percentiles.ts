import { meanOf, nearestRank } from '@goshawk/core';

/** Summary of a set of numbers. Percentiles are by nearest rank. */
export interface Distribution {
  readonly count: number;
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** Summary of values in any order, or undefined when there are none. Sorts the array in place. */
export function distributionOf(values: Float64Array): Distribution | undefined {
  if (values.length === 0) return undefined;
  values.sort();
  return {
    count: values.length,
    mean: meanOf(values),
    p50: nearestRank(values, 50),
    p90: nearestRank(values, 90),
    p99: nearestRank(values, 99),
    max: values[values.length - 1]!,
  };
}
