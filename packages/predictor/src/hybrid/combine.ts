import type { Millis } from '@goshawk/core';

/** What history says of a job, and how far such sayings have been off. */
export interface Prior {
  readonly meanMs: Millis;
  /** Mean of ln²(estimate ÷ actual). */
  readonly logVariance: number;
  /** How the tasks of such a job differ (`spreadOf`). */
  readonly taskSpread: number;
}

/** Shorter than any task: logarithms go astray below it. */
const LEAST_MS = 1;
/** Nothing is known more exactly than to a thousandth. */
const LEAST_VARIANCE = 1e-6;

/**
 * The mean task run time, from the mean of some pilots and a prior: SLearn §4.1's posterior of two normals, each
 * weighed by the inverse of its variance, on a scale of logarithms, since run times err by factors.
 *
 * The paper's prior is known to be right. Ours comes from jobs that may have been others, in other times, or of which
 * only the whole run time was known. So it is taken to be off by as much at least as this job's own pilots say: a prior
 * that agrees steadies them, and one that does not hardly moves them.
 */
export function combine(pilotsMs: Millis, pilots: number, prior: Prior): Millis {
  const fromPilots = Math.log(Math.max(pilotsMs, LEAST_MS));
  const fromHistory = Math.log(Math.max(prior.meanMs, LEAST_MS));
  const disagreement = (fromHistory - fromPilots) ** 2;
  const ofPilots = pilots / Math.max(prior.taskSpread, LEAST_VARIANCE);
  const ofHistory = 1 / Math.max(prior.logVariance, disagreement, LEAST_VARIANCE);
  return Math.exp((ofPilots * fromPilots + ofHistory * fromHistory) / (ofPilots + ofHistory));
}
