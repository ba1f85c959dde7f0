import type { Millis } from '@goshawk/core';
import type { ArrivingJob, Estimate, Estimator, SamplePlan } from '../estimator.js';

/** What came of a sample that was only thought of. */
export interface Played {
  readonly estimate: Estimate;
  /** From the start of the pilots to the decision. */
  readonly delayMs: Millis;
}

/**
 * What an estimator would have decided, and when, had these tasks been its pilots and all of them started at once.
 *
 * @param runsMs one for each pilot
 * @returns undefined where it never decides
 */
export function playPilots(
  estimator: Estimator,
  job: ArrivingJob,
  plan: SamplePlan,
  runsMs: readonly Millis[],
  cutoffMs: Millis,
): Played | undefined {
  const sorted = [...runsMs].sort((a, b) => a - b);
  const pilots = sorted.length;
  let ended = 0;
  let now = 0;
  while (true) {
    while (ended < pilots && sorted[ended]! <= now) ended++;
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
    const next = Math.min(sorted[ended] ?? Number.POSITIVE_INFINITY, now + verdict.againInMs);
    if (!(next > now && next < Number.POSITIVE_INFINITY)) return undefined;
    now = next;
  }
}
