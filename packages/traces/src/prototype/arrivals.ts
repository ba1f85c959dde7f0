import type { Random } from '@goshawk/core';
import { exponential } from '../draws.js';
import type { TraceJob } from '../job.js';

/**
 * The same jobs with new submission times: a Poisson process, given that all of its arrivals fall into
 * `spanSeconds`. (Its gaps are exponential ones stretched to fill the span.) So the load over the span
 * is exactly the one that the caller computed, and not off by the luck of some thousand draws.
 */
export function drawArrivals(jobs: readonly TraceJob[], spanSeconds: number, random: Random): TraceJob[] {
  const ends: number[] = [];
  let total = 0;
  for (let i = 0; i < jobs.length; i++) {
    total += exponential(random, 1);
    ends.push(total);
  }
  total += exponential(random, 1);
  return jobs.map((job, i) => ({ ...job, submitSeconds: (ends[i]! / total) * spanSeconds }));
}
