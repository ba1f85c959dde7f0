import { type LineLook, lineLook } from '../charts/palette.js';
import type { ByClass, Comparison } from '../comparison.js';
import { pooled } from '../distribution.js';
import { ComparisonError } from '../errors.js';
import type { RunSeries } from '../run.js';
import { type PolicySummary, summarisePolicies } from '../summary.js';

/** The data of one policy that the page shows. */
export interface PolicyView extends PolicySummary {
  readonly look: LineLook;
  /** Ascending run times in seconds over all seeds; empty without series. */
  readonly ascending: ByClass<Float64Array>;
}

/** @throws ComparisonError if a series belongs to a policy that the comparison lacks. */
export function viewPolicies(comparison: Comparison, series: readonly RunSeries[]): PolicyView[] {
  const summaries = summarisePolicies(comparison);
  const known = new Set(summaries.map(({ policy }) => policy));
  const unknown = series.find(({ policy }) => !known.has(policy));
  if (unknown !== undefined) {
    throw new ComparisonError(
      `there is a series of ${unknown.policy}, which is not in this comparison of ${[...known].join(', ')}`,
    );
  }
  return summaries.map((summary, index) => {
    const own = series.filter(({ policy }) => policy === summary.policy);
    return {
      ...summary,
      look: lineLook(index),
      ascending: {
        short: pooled(own.map(({ shortRuntimes }) => shortRuntimes)),
        long: pooled(own.map(({ longRuntimes }) => longRuntimes)),
      },
    };
  });
}
