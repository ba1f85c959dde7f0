import { type Millis, present } from '@goshawk/core';
import type { PlanningResults } from './comparison.js';

/** Statistics of wall time in milliseconds. */
interface Spread {
  readonly count: number;
  readonly p50: Millis;
  readonly p99: Millis;
  readonly max: Millis;
}

/**
 * Returns the planning results of a policy from central's counters.
 *
 * @param solver version of the solver
 * @returns undefined if the policy neither plans ahead nor preempts tasks
 */
export function planningOf(
  counts: Readonly<Record<string, number>>,
  times: Readonly<Record<'formulate' | 'solve' | 'extract' | 'cycle', Spread>> | undefined,
  solver?: string,
): PlanningResults | undefined {
  if (counts.cycles === undefined && !((counts.preemptions ?? 0) > 0)) return undefined;
  if (times === undefined) return { counts };
  const { formulate, solve, extract, cycle } = times;
  return {
    counts,
    cycleSeconds: {
      formulate: inSeconds(formulate),
      solve: inSeconds(solve),
      extract: inSeconds(extract),
      cycle: inSeconds(cycle),
    },
    ...present({ solver }),
  };
}

export function inSeconds({ count, p50, p99, max }: Spread) {
  return { count, p50: p50 / 1_000, p99: p99 / 1_000, max: max / 1_000 };
}
