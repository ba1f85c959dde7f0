import { type Millis, type Segment, sumOf } from '@goshawk/core';

/**
 * A distribution of run times as a scheduler reads it (3Sigma §3.2, §4.2.1). Any consistent unit of time;
 * probabilities add up to 1.
 */
export type Distribution = readonly Segment[];

/** The one run time that is believed for certain: what a point estimate is. */
export function atom(at: Millis): Distribution {
  return [{ from: at, to: at, p: 1 }];
}

/** The run times of the same job where it takes `factor` times as long. */
export function scale(distribution: Distribution, factor: number): Distribution {
  if (factor === 1) return distribution;
  return distribution.map(({ from, to, p }) => ({ from: from * factor, to: to * factor, p }));
}

/** The longest run time that is possible; 0 for no distribution. */
export function longest(distribution: Distribution): Millis {
  return distribution.reduce((most, { to, p }) => (p > 0 && to > most ? to : most), 0);
}

export function mean(distribution: Distribution): Millis {
  return sumOf(distribution, ({ from, to, p }) => (p * (from + to)) / 2);
}

/** P(T > t): what ends exactly at t has ended, so that one job can follow another on the same node. */
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
 * When a job is taken to end that has run for as long as any like it, or longer: in increments of 1, 2, 4 … cycles
 * behind the longest (§4.2.1). Below that, the longest run time itself.
 */
export function takenToEndAt(longestRun: Millis, elapsed: Millis, cycle: Millis): Millis {
  let end = longestRun;
  for (let increment = cycle; end <= elapsed; increment *= 2) end += increment;
  return end;
}

/**
 * Share of its nodes that a job is expected to hold at `after` from now, having run for `elapsed` (Eq. 2). It is 1 at
 * `after` 0: what is held now is known.
 *
 * @param cycle of the scheduler, which the increments of an under-estimate are made of
 */
export function expectedHold(
  distribution: Distribution,
  elapsed: Millis,
  after: Millis,
  cycle: Millis,
): number {
  const most = longest(distribution);
  if (elapsed < most) return survival(distribution, elapsed + after) / survival(distribution, elapsed);
  return elapsed + after < takenToEndAt(most, elapsed, cycle) ? 1 : 0;
}
