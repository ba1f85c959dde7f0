import type { Millis } from '@goshawk/core';

/** An estimated mean task run time and its uncertainty. */
export interface Belief {
  readonly meanMs: Millis;
  /** Variance of the logarithm. */
  readonly logVariance: number;
}

/** Shorter than any task; below it run times say nothing, and logarithms diverge. */
const LEAST_MS = 1;
/** No estimate is more accurate than this. */
const LEAST_VARIANCE = 1e-6;

/** A run time on a logarithmic scale, because run times err by factors. */
export function logOf(ms: Millis): number {
  return Math.log(Math.max(ms, LEAST_MS));
}

/**
 * SLearn §4.1: the posterior of two normals, each weighted by the inverse of its variance, on a logarithmic scale.
 */
export function posterior(one: Belief, other: Belief): Millis {
  const ofOne = 1 / Math.max(one.logVariance, LEAST_VARIANCE);
  const ofOther = 1 / Math.max(other.logVariance, LEAST_VARIANCE);
  return Math.exp((ofOne * logOf(one.meanMs) + ofOther * logOf(other.meanMs)) / (ofOne + ofOther));
}

/** An estimate from history, and the accuracy of such estimates. */
export interface Prior {
  readonly meanMs: Millis;
  /** Mean of ln²(estimate ÷ actual). */
  readonly logVariance: number;
  /** How much the tasks of such a job differ (`spreadOf`). */
  readonly taskSpread: number;
}

/**
 * The mean task run time, from the mean of some pilots and a prior (`posterior`).
 *
 * The paper's prior is known to be right. Ours comes from jobs that may have been different, at other times, or of
 * which only the total run time was known. It is therefore assumed to be off by at least its distance from this job's
 * pilots: a prior that agrees steadies them, and one that disagrees hardly moves them.
 */
export function combine(
  pilotsMs: Millis,
  pilots: number,
  { meanMs, logVariance, taskSpread }: Prior,
): Millis {
  const disagreement = (logOf(meanMs) - logOf(pilotsMs)) ** 2;
  return posterior(
    { meanMs: pilotsMs, logVariance: taskSpread / pilots },
    { meanMs, logVariance: Math.max(logVariance, disagreement) },
  );
}
