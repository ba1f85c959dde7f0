import type { Millis } from '@goshawk/core';
import { type Distribution, survival } from './distribution.js';

/**
 * Value of completing a job at a time (3Sigma §3.1, Fig. 3), as linear segments. Each segment includes its
 * end, and the last one ends at Infinity. The value at time c is `at + slope · c`.
 */
export type Utility = readonly Piece[];

interface Piece {
  readonly until: Millis;
  readonly at: number;
  readonly slope: number;
}

const ZERO_AFTER: Piece = { until: Number.POSITIVE_INFINITY, at: 0, slope: 0 };

/** The full value until the deadline, nothing later (Fig. 3a). */
export function stepUtility(deadline: Millis, value: number): Utility {
  return [{ until: deadline, at: value, slope: 0 }, ZERO_AFTER];
}

/**
 * The full value until the deadline, then falling to 0 at `zero` (Fig. 3d).
 *
 * @param tail factor of the value after the deadline, in (0, 1]
 */
export function extendedUtility(deadline: Millis, zero: Millis, value: number, tail = 1): Utility {
  const slope = (-tail * value) / (zero - deadline);
  return [{ until: deadline, at: value, slope: 0 }, { until: zero, at: -slope * zero, slope }, ZERO_AFTER];
}

/**
 * A value that falls from the submission to 0 after `length`, but not below the fraction `floor`, so that no
 * job is ignored forever.
 */
export function decreasingUtility(submitted: Millis, length: Millis, value: number, floor: number): Utility {
  const slope = -value / length;
  return [
    { until: submitted, at: value, slope: 0 },
    { until: submitted + (1 - floor) * length, at: value - slope * submitted, slope },
    { until: Number.POSITIVE_INFINITY, at: floor * value, slope: 0 },
  ];
}

/** Expected utility of a start at `start` (Eq. 1). The result is exact, because each segment is linear. */
export function expectedUtility(utility: Utility, distribution: Distribution, start: Millis): number {
  let total = 0;
  for (const { from, to, p } of distribution) total += p * meanOver(utility, start + from, start + to);
  return total;
}

function meanOver(utility: Utility, from: Millis, to: Millis): number {
  let area = 0;
  let low = from;
  for (const { until, at, slope } of utility) {
    if (until < low) continue;
    if (to <= until && low === from) return at + (slope * (from + to)) / 2;
    const high = Math.min(until, to);
    area += (high - low) * (at + (slope * (low + high)) / 2);
    if (high === to) break;
    low = high;
  }
  return area / (to - from);
}

/** P(T ≤ `within`). */
export function chanceWithin(distribution: Distribution, within: Millis): number {
  return within < 0 ? 0 : 1 - survival(distribution, within);
}
