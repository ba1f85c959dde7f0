import { type Millis, meanOf, sumOf } from '@goshawk/core';
import type { Estimate, Evidence, Verdict } from '../estimator.js';

interface WeighingRule {
  readonly cutoffMs: Millis;
  /** Fraction of the pilots that must have ended before their mean decides. */
  readonly quorum: number;
  /** Estimate for a job that is only known to be long. */
  readonly typicalLongMs?: Millis | undefined;
}

/** Minimum wait in ms, so that rounding does not cause an immediate wake-up. Shorter than any message delay. */
export const WAIT_MIN_MS = 1;

/**
 * Returns the verdict of the pilots. Their mean decides once enough have ended. Earlier, the job is long if the run
 * times of ended pilots and elapsed times of running ones, averaged over all pilots, reach the cutoff: the
 * mean can only grow. The estimate is then provisional. One pilot past the cutoff proves nothing: that rule misclassified 9% of the task seconds of a Google sample as long.
 */
export function weighPilots(evidence: Evidence, { cutoffMs, quorum, typicalLongMs }: WeighingRule): Verdict {
  const { pilots, runsMs, failedRunsMs, failed, elapsedMs } = evidence;
  // Failed pilots do not count, unless all failed.
  const counted = pilots - failed;
  if (counted === 0) return { kind: 'decided', estimate: ofAttempts(failedRunsMs) };
  const ended = sumOf(runsMs);
  const leastMs = (ended + sumOf(elapsedMs)) / counted;
  const wanted = Math.ceil(quorum * pilots);
  if (runsMs.length > 0 && runsMs.length + failed >= wanted) {
    return { kind: 'decided', estimate: ofRuns(runsMs, counted, leastMs) };
  }
  if (leastMs >= cutoffMs) {
    const meanMs = Math.max(leastMs, typicalLongMs ?? 0);
    const by = `the elapsed time of ${formatPilots(counted)}`;
    return { kind: 'decided', estimate: { meanMs, by }, provisional: true };
  }
  const running = elapsedMs.length;
  if (running === 0) return { kind: 'wait', againInMs: Number.POSITIVE_INFINITY };
  return {
    kind: 'wait',
    againInMs: Math.max(WAIT_MIN_MS, ((cutoffMs - leastMs) * counted) / running),
  };
}

function ofRuns(runsMs: readonly Millis[], counted: number, leastMs: Millis): Estimate {
  const { length } = runsMs;
  const mean = meanOf(runsMs);
  // Running pilots may already have shown that the mean is higher.
  const estimate = {
    meanMs: Math.max(mean, leastMs),
    by: length === counted ? formatPilots(length) : `${length} of ${formatPilots(counted)}`,
  };
  if (length < 2) return estimate;
  const squares = sumOf(runsMs, (ms) => (ms - mean) ** 2);
  return { ...estimate, varianceMs2: squares / (length - 1) / length };
}

function ofAttempts(failedRunsMs: readonly Millis[]): Estimate {
  const { length } = failedRunsMs;
  return length === 0
    ? { meanMs: 0, by: 'pilots that never ran' }
    : {
        meanMs: meanOf(failedRunsMs),
        by: `${length} failed run${length === 1 ? '' : 's'} of pilots`,
      };
}

function formatPilots(count: number): string {
  return count === 1 ? '1 pilot' : `${count} pilots`;
}
