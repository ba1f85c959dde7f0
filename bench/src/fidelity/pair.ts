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
  /** Duration and density of the arrivals, as options of `goshawk replay`, such as `['--for', '40s']`. */
  readonly pace: readonly string[];
  /** Seed of the jobs, their times, and all random draws. */
  readonly seed: number;
  /** Number of simulations of the same jobs, which are averaged, because the draws of a live run cannot be repeated. */
  readonly simulations: number;
  /** Folder for all files of the pair. */
  readonly folder: string;
}

export interface Pair {
  readonly options: PairOptions;
  /** Load average of the machine over the minute before. */
  readonly loadBefore: number;
  readonly live: Run;
  readonly simulated: readonly Run[];
  readonly profile: MeasuredProfile;
  /** Measurements of the live run. */
  readonly summary: ReadonlyMap<string, number>;
}

/** Number of workers of a local cluster that share a process. */
const WORKERS_PER_PROCESS = 25;
/**
 * Length of a phase. Messages are slower while the cluster is cold, while few are in flight, because processes sleep,
 * and while many are, because there are more processes than processors. Delays within 20 ms of each other are similar;
 * delays 100 ms apart are not. A phase of this length separates them and still contains about ten messages of each
 * type.
 */
const PHASE_MS = 100;

/** Runs live once, then simulates the same jobs at the same times with the measured delays. */
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

/** Ratio of simulated to live, minus 1. */
export function difference({ live, simulated }: Pair, of: JobClass, percentile: 'p50' | 'p90'): number {
  const values = simulated.map((run) => run.runtimeSeconds[of][percentile]!);
  const mean = meanOf(values);
  return mean / live.runtimeSeconds[of][percentile]! - 1;
}

/** Each class at each compared percentile. */
export function comparisons(): (readonly [JobClass, 'p50' | 'p90'])[] {
  return CLASSES.flatMap((of) => PERCENTILES.map((percentile) => [of, percentile] as const));
}
