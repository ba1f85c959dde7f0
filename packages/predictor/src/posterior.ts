import type { Millis } from '@goshawk/core';

/** A mean task run time as it is believed, and how far off that may be. */
export interface Belief {
  readonly meanMs: Millis;
  /** Variance of the logarithm. */
  readonly logVariance: number;
}

/** Shorter than any task: logarithms go astray below it. */
const LEAST_MS = 1;
/** Nothing is known more exactly than to a thousandth. */
const LEAST_VARIANCE = 1e-6;

/**
 * SLearn §4.1: the posterior of two normals, each weighed by the inverse of its variance; on a scale of logarithms, since
 * run times err by factors.
 */
export function posterior(one: Belief, other: Belief): Millis {
  const ofOne = 1 / Math.max(one.logVariance, LEAST_VARIANCE);
  const ofOther = 1 / Math.max(other.logVariance, LEAST_VARIANCE);
  const logs =
    ofOne * Math.log(Math.max(one.meanMs, LEAST_MS)) + ofOther * Math.log(Math.max(other.meanMs, LEAST_MS));
  return Math.exp(logs / (ofOne + ofOther));
}
