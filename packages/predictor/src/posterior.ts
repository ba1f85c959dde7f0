import type { Millis } from '@goshawk/core';

/** A mean task run time as it is believed, and how far off that may be. */
export interface Belief {
  readonly meanMs: Millis;
  /** Variance of the logarithm. */
  readonly logVariance: number;
}

/** Shorter than any task: below it run times say nothing about a job, and logarithms go astray. */
const LEAST_MS = 1;
/** Nothing is known more exactly than to a thousandth. */
const LEAST_VARIANCE = 1e-6;

/** A run time on the scale of logarithms, since run times err by factors. */
export function logOf(ms: Millis): number {
  return Math.log(Math.max(ms, LEAST_MS));
}

/**
 * SLearn §4.1: the posterior of two normals, each weighed by the inverse of its variance, on a scale of logarithms.
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
  /** How the tasks of such a job differ (`spreadOf`). */
  readonly taskSpread: number;
}

/**
 * The mean task run time, from the mean of some pilots and a prior (`posterior`).
 *
 * The paper's prior is known to be right. Ours comes from jobs that may have been others, in other times, or of which
 * only the whole run time was known. So it is taken to be off by as much at least as this job's own pilots say: a prior
 * that agrees steadies them, and one that does not hardly moves them.
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
