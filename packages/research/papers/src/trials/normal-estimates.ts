import { type Millis, Random, type Segment } from '@goshawk/core';
import { NormalDraws, normalCdf } from '@goshawk/traces';
import type { TrialEstimate } from './trial.js';

/** Number of parts of equal probability of a distribution; a histogram has as many bins. */
const PARTS = 80;
/**
 * Standard deviation of the relative error of a single estimate, in addition to the common shift (3Sigma
 * §6.3).
 */
const SHIFT_DEVIATION = 0.1;
/** Bound of the first and last part, in standard deviations. */
const BOUND_DEVIATIONS = 4;

/**
 * Creates estimates that are normal distributions, with a mean that is off by a fraction, cut off at 0
 * (3Sigma §6.3, Fig. 9).
 *
 * @param spread standard deviation over the true run time; 0: a point estimate
 */
export function normalEstimates({
  shift,
  spread,
  seed,
}: {
  readonly shift: number;
  readonly spread: number;
  readonly seed: number;
}): (job: number, runMs: Millis) => TrialEstimate {
  return (job, runMs) => {
    const draws = new NormalDraws(Random.seeded(seed).fork(`shift ${job}`));
    const estimateMs = Math.max(1, runMs * (1 + shift + SHIFT_DEVIATION * draws.next()));
    if (spread === 0) return { estimateMs };
    return { estimateMs, distribution: normalParts(estimateMs, spread * runMs) };
  };
}

/** Divides a normal distribution, cut off at 0, into parts of equal probability. */
export function normalParts(meanMs: Millis, deviationMs: Millis): Segment[] {
  const below = normalCdf(-meanMs / deviationMs);
  const at = (share: number) => meanMs + deviationMs * normalQuantile(below + share * (1 - below));
  return Array.from({ length: PARTS }, (_, part) => ({
    from: Math.max(0, at(part / PARTS)),
    to: at((part + 1) / PARTS),
    p: 1 / PARTS,
  }));
}

function normalQuantile(share: number): number {
  let [low, high] = [-BOUND_DEVIATIONS, BOUND_DEVIATIONS];
  for (let step = 0; step < 50; step++) {
    const middle = (low + high) / 2;
    if (normalCdf(middle) < share) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
