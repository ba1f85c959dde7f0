import type { Millis } from '@goshawk/core';
import type { ArrivingJob, Estimate, Estimator, SamplePlan } from '../estimator.js';

/** Result of hypothetical pilots. */
interface SimulatedPilots {
  readonly estimate: Estimate;
  /** Time from the start of the pilots to the decision. */
  readonly delayMs: Millis;
}

/** Maximum number of calls between two pilots' ends, because each call blocks the process. */
const CALLS_MAX = 1_000;

/**
 * Computes what an estimator would have decided, and when, if these tasks had been its pilots and had started
 * together.
 *
 * @param runsMs one per pilot
 * @returns undefined if it never decides
 */
export function simulatePilots(
  estimator: Estimator,
  job: ArrivingJob,
  plan: SamplePlan,
  runsMs: readonly Millis[],
  cutoffMs: Millis,
): SimulatedPilots | undefined {
  const sorted = [...runsMs].sort((a, b) => a - b);
  const pilots = sorted.length;
  let ended = 0;
  let now = 0;
  let calls = 0;
  while (true) {
    for (; ended < pilots && sorted[ended]! <= now; ended++) calls = 0;
    const verdict = estimator.weigh(
      job,
      plan,
      {
        pilots,
        runsMs: sorted.slice(0, ended),
        failedRunsMs: [],
        failed: 0,
        elapsedMs: new Array<number>(pilots - ended).fill(now),
      },
      cutoffMs,
    );
    if (verdict.kind === 'decided') return { estimate: verdict.estimate, delayMs: now };
    const againInMs = ++calls < CALLS_MAX ? verdict.againInMs : Number.POSITIVE_INFINITY;
    const next = Math.min(sorted[ended] ?? Number.POSITIVE_INFINITY, now + againInMs);
    if (!(next > now && next < Number.POSITIVE_INFINITY)) return undefined;
    now = next;
  }
}
