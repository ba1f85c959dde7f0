import type { Millis } from '@goshawk/core';
import type { Segment } from '../estimator.js';

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
