import { mkdirSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { CLASSES, type JobClass, meanOf } from '@goshawk/core';
import type { Run } from '@goshawk/report';
import type { MeasuredProfile } from '@goshawk/simulator';
import { observe, profileOf } from './delays.js';
import { goshawk, settingsOf } from './goshawk.js';
import { readRecordings } from './recording.js';
import { summarise } from './summary.js';

const PERCENTILES = ['p50', 'p90'] as const;

interface PairOptions {
  readonly policy: string;
  readonly workload: string;
  readonly workers: number;
  /** How fast and how densely the jobs come, as options of `goshawk replay`, such as `['--for', '40s']`. */
  readonly pace: readonly string[];
  /** Seeds the jobs, their times, and every random draw. */
  readonly seed: number;
  /** Simulations of the same jobs, of which the mean counts: a live run has no seed to be repeated by. */
  readonly simulations: number;
  /** Everything that a pair leaves behind goes here. */
  readonly folder: string;
}

export interface Pair {
  readonly options: PairOptions;
  /** The load average of the machine over the minute before. */
  readonly loadBefore: number;
  readonly live: Run;
  readonly simulated: readonly Run[];
  readonly profile: MeasuredProfile;
  /** The measurements of the live run. */
  readonly summary: ReadonlyMap<string, number>;
}

/** Workers of a local cluster that share a process. */
const WORKERS_PER_PROCESS = 25;
/**
 * Messages are slower while the cluster is cold, where few are under way, since nobody is awake, and where many are,
 * since there are more processes than processors. Delays that lie within 20 ms of each other are alike, those 100 ms
 * apart hardly more than any two: so short is a phase that tells one from the other, and some ten messages of each
 * type are left in it.
 */
const PHASE_MS = 100;

/** One live run, and the same jobs at the same times simulated with the delays that were measured in it. */
export async function runPair(options: PairOptions): Promise<Pair> {
  const { policy, workload, workers, pace, seed, simulations } = options;
  const file = (what: string) => join(options.folder, `${policy}-${seed}-${what}`);
  const [recordings, jobs, delays] = [file('recordings'), file('jobs.jsonl'), file('delays.json')];
  mkdirSync(recordings, { recursive: true });
  const loadBefore = loadavg()[0]!;
  const replay = ['replay', workload, '--policy', policy, '--workers', `${workers}`, ...pace];
  const saved = ['--seed', `${seed}`, '--save-jobs', jobs];
  const live = (await goshawk([...replay, ...saved], recordings)).runs[0]!;

  const observed = observe(readRecordings(recordings));
  const profile = profileOf(observed, { workersPerProcess: WORKERS_PER_PROCESS, phaseMs: PHASE_MS });
  writeFileSync(delays, JSON.stringify(profile));
  const simulate = ['simulate', jobs, ...settingsOf(live), '--network-delay', `measured:${delays}`];
  const seeds = ['--seed', `${seed}`, '--seeds', `${simulations}`];
  const { runs: simulated } = await goshawk([...simulate, ...seeds]);
  return { options, loadBefore, live, simulated, profile, summary: summarise(observed) };
}

/** Simulated over live, less 1. */
export function difference({ live, simulated }: Pair, of: JobClass, percentile: 'p50' | 'p90'): number {
  const values = simulated.map((run) => run.runtimeSeconds[of][percentile]!);
  const mean = meanOf(values);
  return mean / live.runtimeSeconds[of][percentile]! - 1;
}

/** Each class at each percentile that is compared. */
export function comparisons(): (readonly [JobClass, 'p50' | 'p90'])[] {
  return CLASSES.flatMap((of) => PERCENTILES.map((percentile) => [of, percentile] as const));
}
