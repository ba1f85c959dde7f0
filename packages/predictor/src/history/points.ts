import type { Millis } from '@goshawk/core';
import type { Segment } from '../estimator.js';

/** Shorter than any task. Avoids a division by 0. */
const RUN_TIME_MIN_MS = 1;

/**
 * Returns the run time that is equivalent to a distribution if the value of a job is the inverse of its squared run time.
 * This is 3Sigma's point estimate for a short mean completion time, as SLearn (§4.3) computes it. It is closer to the
 * shortest run times than to the mean.
 *
 * @returns NaN for an empty distribution
 */
export function inverseSquareEstimate(distribution: readonly Segment[]): Millis {
  let worth = 0;
  for (const { from, to, p } of distribution) {
    // The mean of 1 ÷ t² from a to b is 1 ÷ ab.
    worth += p / (Math.max(from, RUN_TIME_MIN_MS) * Math.max(to, RUN_TIME_MIN_MS));
  }
  return worth > 0 ? 1 / Math.sqrt(worth) : Number.NaN;
}

/** Returns the lowest run time with a cumulative probability of at least one half. */
export function medianOf(distribution: readonly Segment[]): Millis {
  let below = 0;
  for (const { from, to, p } of distribution) {
    if (below + p >= 0.5) return p === 0 ? from : from + ((0.5 - below) / p) * (to - from);
    below += p;
  }
  // Due to rounding, probabilities may sum to slightly less than 1.
  return distribution.at(-1)!.to;
}
