import { type Millis, meanOf, nearestRank } from '@goshawk/core';
import { type NetworkModel, PROFILE_SCHEMA } from '@goshawk/simulator';
import type { RecordedJob } from '@goshawk/traces';

/** Minimum number of jobs from which delays are derived. */
const JOBS_MIN = 20;
/** Jobs that found free workers immediately have at most this multiple of the smallest overhead. */
const IMMEDIATE_RATIO = 2;
/** A job with more than this multiple of the lower quartile waited for something that simulations do not model. */
const OUTLIER_RATIO = 10;
/** Upper bound of a message delay; larger values have other causes. */
const DELAY_MAX_MS: Millis = 50;
/** Maximum number of delays before they are reduced to quantiles. */
const DELAYS_MAX = 1_000;

/**
 * Derives message delays from recorded jobs. If a job finds free workers immediately, its run time minus its
 * longest task is overhead: messages and related work (journals, busy processes). Policies that draw workers
 * choose these jobs at random, so the simulation provides only their number. As many recorded jobs, those with
 * the smallest overhead, give one delay each.
 * @param recorded in the order of the simulation
 * @param runtimeSeconds simulated run time of each job
 * @param assumedMs message delay of the simulation
 * @returns delays in ascending order, all equally likely; undefined with too few jobs
 */
export function messageDelaysMs(
  recorded: readonly RecordedJob[],
  runtimeSeconds: ArrayLike<number>,
  assumedMs: Millis,
): Millis[] | undefined {
  const both = recorded.flatMap(({ job, runtimeSeconds: seconds }, index) => {
    const simulated = runtimeSeconds[index]!;
    if (seconds === undefined || job.stages !== undefined || !(simulated > 0)) return [];
    const longest = job.durationsSeconds.reduce((most, each) => Math.max(most, each), 0);
    return [{ recorded: seconds - longest, simulated: simulated - longest }];
  });
  const beside = (of: 'recorded' | 'simulated') => Float64Array.from(both, (each) => each[of]).sort();
  const simulated = beside('simulated');
  const least = simulated[0] ?? 0;
  const atOnce = simulated.filter((seconds) => seconds <= IMMEDIATE_RATIO * least);
  if (atOnce.length < JOBS_MIN || !(least > 0)) return undefined;
  const theLeast = beside('recorded').subarray(0, atOnce.length);
  const quarter = nearestRank(theLeast, 25);
  const counted = theLeast.filter((seconds) => seconds <= OUTLIER_RATIO * quarter);
  const messages = meanOf(atOnce) / assumedMs;
  const delays = counted.map((seconds) => Math.max(0, Math.min(seconds / messages, DELAY_MAX_MS)));
  if (!(meanOf(delays) > 0)) return undefined;
  const kept = Math.min(delays.length, DELAYS_MAX);
  return Array.from(
    { length: kept },
    (_, index) => delays[Math.floor(((index + 0.5) * delays.length) / kept)]!,
  );
}

/** Returns a network that draws the delay of each message from these. */
export function networkOfDelays(ms: readonly Millis[]): NetworkModel {
  const none = { sleepLateMs: [0], timerLateMs: [0], submissionMs: [0], newsMs: [0] };
  // Types without measurements are drawn from the existing ones.
  const phase = { fromMs: 0, messages: [{ type: 'run' as const, sameProcess: false, ms }], ...none };
  return { kind: 'measured', profile: { schema: PROFILE_SCHEMA, workersPerProcess: 1, phases: [phase] } };
}
