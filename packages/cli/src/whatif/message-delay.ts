import type { Millis } from '@goshawk/core';
import type { RecordedJob } from '@goshawk/traces';

/** Fewer jobs than this say nothing. */
const JOBS_MIN = 20;
/** What a job took beside its longest task, over the least that any did: up to here it found free workers at once. */
const AT_ONCE = 2;

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
  const ratio = meanOf(atOnce.map((each) => each.recorded)) / meanOf(atOnce.map((each) => each.simulated));
  return ratio > 0 ? assumedMs * ratio : undefined;
}

/** Without the longest hundredth: a machine that stood still is no message. */
function meanOf(values: readonly number[]): number {
  const counted = [...values].sort((a, b) => a - b).slice(0, Math.ceil(0.99 * values.length));
  return counted.reduce((sum, each) => sum + each, 0) / counted.length;
}
