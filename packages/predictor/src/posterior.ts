import type { Millis } from '@goshawk/core';

/** An estimated mean task run time and its uncertainty. */
export interface LogEstimate {
  readonly meanMs: Millis;
  /** Variance of the logarithm. */
  readonly logVariance: number;
}

/** Shorter than any task. Shorter run times carry no information, and their logarithms diverge. */
const RUN_TIME_MIN_MS = 1;
/** Lower bound of the variance of an estimate. */
const VARIANCE_MIN = 1e-6;

/** Returns a run time on a logarithmic scale, because estimates err by factors. */
export function logOf(ms: Millis): number {
  return Math.log(Math.max(ms, RUN_TIME_MIN_MS));
}

/**
 * Combines two estimates as normal distributions on a logarithmic scale, weighted by their inverse variances (SLearn
 * §4.1).
 */
export function posterior(one: LogEstimate, other: LogEstimate): Millis {
  const ofOne = 1 / Math.max(one.logVariance, VARIANCE_MIN);
  const ofOther = 1 / Math.max(other.logVariance, VARIANCE_MIN);
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
 * Combines the mean of some pilots with a prior (see `posterior`). Returns the mean task run time.
 *
 * The paper assumes that the prior is correct. This prior comes from other jobs, which may have differed, so its error is taken to be at least its distance from this job's pilots. A prior that agrees with the pilots steadies their result,
 * and one that disagrees hardly changes it.
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
