import { type Millis, meanOf, nearestRank } from '@goshawk/core';
import { type NetworkModel, PROFILE_SCHEMA } from '@goshawk/simulator';
import type { RecordedJob } from '@goshawk/traces';

/** Fewer jobs than this say nothing. */
const JOBS_MIN = 20;
/** What a simulated job took beside its longest task, over the least that any did: up to here it found free workers at once. */
const AT_ONCE = 2;
/** Over what a quarter of those took: from here on a job waited for something that no simulation knows. */
const WAITED = 10;
/** More is no network. */
const DELAY_MAX_MS: Millis = 50;
/** Of more delays than this, quantiles. */
const DELAYS_MAX = 1_000;

/**
 * What messages take, by what was recorded: of jobs that find free workers at once, what they took beside their longest task
 * is messages, and what stands behind them (journals, processes that have other things to do).
 *
 * Which jobs find free workers is chance under policies that draw. So the simulation says only how many do, and that many of
 * the record, those that took the least beside their tasks, are compared with them: each of these is a delay.
 *
 * @param recorded in the order of the simulation
 * @param runtimeSeconds of each, simulated
 * @param assumedMs what a message took there
 * @returns in ascending order, each as likely as the others; undefined where too few jobs tell
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
  const atOnce = simulated.filter((seconds) => seconds <= AT_ONCE * least);
  if (atOnce.length < JOBS_MIN || !(least > 0)) return undefined;
  const theLeast = beside('recorded').subarray(0, atOnce.length);
  const quarter = nearestRank(theLeast, 25);
  const counted = theLeast.filter((seconds) => seconds <= WAITED * quarter);
  const messages = meanOf(atOnce) / assumedMs;
  const delays = counted.map((seconds) => Math.max(0, Math.min(seconds / messages, DELAY_MAX_MS)));
  if (!(meanOf(delays) > 0)) return undefined;
  const kept = Math.min(delays.length, DELAYS_MAX);
  return Array.from(
    { length: kept },
    (_, index) => delays[Math.floor(((index + 0.5) * delays.length) / kept)]!,
  );
}

/** A network whose messages take what is drawn from these, wherever they go. */
export function networkOfDelays(ms: readonly Millis[]): NetworkModel {
  const none = { sleepLateMs: [0], timerLateMs: [0], submissionMs: [0], newsMs: [0] };
  // What no phase names is drawn as what is there.
  const phase = { fromMs: 0, messages: [{ type: 'run' as const, sameProcess: false, ms }], ...none };
  return { kind: 'measured', profile: { schema: PROFILE_SCHEMA, workersPerProcess: 1, phases: [phase] } };
}
