import type { Millis } from '@goshawk/core';
import { logOf, posterior } from '../posterior.js';

/** What history says of a job, and how far such sayings have been off. */
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
