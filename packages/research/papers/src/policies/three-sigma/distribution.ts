import { type Millis, type Segment, sumOf } from '@goshawk/core';

/**
 * A distribution of run times for schedulers (3Sigma §3.2, §4.2.1), in any consistent unit. Probabilities sum
 * to 1.
 */
export type Distribution = readonly Segment[];

/** A single certain run time: a point estimate. */
export function pointDistribution(at: Millis): Distribution {
  return [{ from: at, to: at, p: 1 }];
}

/** Run times of the same job with a slowdown of `factor`. */
export function scale(distribution: Distribution, factor: number): Distribution {
  if (factor === 1) return distribution;
  return distribution.map(({ from, to, p }) => ({ from: from * factor, to: to * factor, p }));
}

/** The longest possible run time; 0 without a distribution. */
export function longest(distribution: Distribution): Millis {
  return distribution.reduce((most, { to, p }) => (p > 0 && to > most ? to : most), 0);
}

export function mean(distribution: Distribution): Millis {
  return sumOf(distribution, ({ from, to, p }) => (p * (from + to)) / 2);
}

/** P(T > t). A run that ends exactly at t has ended, so another can follow on the same node. */
export function survival(distribution: Distribution, t: Millis): number {
  let total = 0;
  for (let i = 0; i < distribution.length; i++) {
    const { from, to, p } = distribution[i]!;
    if (t < from) total += p;
    else if (t < to) total += (p * (to - t)) / (to - from);
  }
  return total;
}

/**
 * Run time at which a job is expected to end: the longest run time, or, once the job has reached it, the
 * first increment of 1, 2, 4 … cycles beyond the elapsed time (§4.2.1).
 */
export function assumedEnd(longestRun: Millis, elapsed: Millis, cycle: Millis): Millis {
  let end = longestRun;
  for (let increment = cycle; end <= elapsed; increment *= 2) end += increment;
  return end;
}

/**
 * Expected share of its nodes that a job still uses `after` from now, if it has run for `elapsed` (Eq. 2).
 * The share is 1 at `after` 0, because present use is known.
 *
 * @param cycle cycle of the scheduler, by which an underestimate grows
 */
export function expectedShareHeld(
  distribution: Distribution,
  elapsed: Millis,
  after: Millis,
  cycle: Millis,
): number {
  const most = longest(distribution);
  if (elapsed < most) return survival(distribution, elapsed + after) / survival(distribution, elapsed);
  return elapsed + after < assumedEnd(most, elapsed, cycle) ? 1 : 0;
}
