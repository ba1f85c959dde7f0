import { type Millis, nearestRank } from '@goshawk/core';
import type { RecordedJob } from '@goshawk/traces';

/** Fewer jobs than this say nothing. */
const JOBS_MIN = 20;
/** What a job took beside its longest task, over the least that any did: up to here it found free workers at once. */
const AT_ONCE = 2;
/** Over what a quarter of those took, recorded: from here on a job waited after all, as policies that draw have it. */
const WAITED = 10;
/** More is no network. */
const DELAY_MAX_MS: Millis = 50;

/**
 * What a message takes, by what was recorded: of jobs that find free workers at once in a simulation, what they took beside
 * their longest task is messages, and what stands behind them (journals, processes that have other things to do).
 *
 * @param recorded in the order of the simulation
 * @param runtimeSeconds of each, simulated
 * @param assumedMs what a message took there
 * @returns undefined where too few jobs tell
 */
export function messageDelayMs(
  recorded: readonly RecordedJob[],
  runtimeSeconds: ArrayLike<number>,
  assumedMs: Millis,
): Millis | undefined {
  const told = recorded.flatMap(({ job, runtimeSeconds: seconds }, index) => {
    const simulated = runtimeSeconds[index]!;
    if (seconds === undefined || job.stages !== undefined || !(simulated > 0)) return [];
    const longest = job.durationsSeconds.reduce((most, each) => Math.max(most, each), 0);
    return [{ recorded: seconds - longest, simulated: simulated - longest }];
  });
  const least = told.reduce((most, { simulated }) => Math.min(most, simulated), Number.POSITIVE_INFINITY);
  const atOnce = told.filter(({ simulated }) => simulated <= AT_ONCE * least);
  if (atOnce.length < JOBS_MIN || !(least > 0)) return undefined;
  const quarter = nearestRank(Float64Array.from(atOnce, (each) => each.recorded).sort(), 25);
  const counted = atOnce.filter((each) => each.recorded <= WAITED * quarter);
  const sum = (of: 'recorded' | 'simulated') => counted.reduce((all, each) => all + each[of], 0);
  const delayMs = (assumedMs * sum('recorded')) / sum('simulated');
  return delayMs > 0 ? Math.min(delayMs, DELAY_MAX_MS) : undefined;
}
