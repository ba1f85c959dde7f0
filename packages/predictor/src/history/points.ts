import type { Millis } from '@goshawk/core';
import type { Segment } from '../estimator.js';

/** Shorter than any task: a run time of nothing would be worth without end. */
const LEAST_MS = 1;

/**
 * The run time that is equivalent to a distribution, if the value of a job is the inverse of its squared run time. It is
 * 3Sigma's point estimate as SLearn computes it (§4.3), for a short mean completion time. It is closer to the shortest
 * run times than to the mean.
 *
 * @returns NaN for no distribution
 */
export function inverseSquareEstimate(distribution: readonly Segment[]): Millis {
  let worth = 0;
  for (const { from, to, p } of distribution) {
    // The mean of 1 ÷ t² from a to b is 1 ÷ ab.
    worth += p / (Math.max(from, LEAST_MS) * Math.max(to, LEAST_MS));
  }
  return worth > 0 ? 1 / Math.sqrt(worth) : Number.NaN;
}

/** The least run time that half of the probability does not exceed. */
export function medianOf(distribution: readonly Segment[]): Millis {
  let below = 0;
  for (const { from, to, p } of distribution) {
    if (below + p >= 0.5) return p === 0 ? from : from + ((0.5 - below) / p) * (to - from);
    below += p;
  }
  // Rounding: the probabilities sum to a little less than 1.
  return distribution.at(-1)!.to;
}
