/**
 * The workload `mixed` on 20 live workers of 4 CPUs, 8 GiB and one GPU, all emulated, and the simulator running the same
 * jobs: the percentiles of each part in both. Then the same jobs while a worker is killed every 5 s: no task may be lost
 * or counted twice, no gang may start in part, and no user may starve. The exit code is 1 if one of these fails.
 *
 *     npm run bench -- mixed [--seconds 120] [--load 0.9] [--seed 1] [--no-killed] [--json]
 *
 * Run times are scaled so that the jobs arrive within `--seconds`; at 600 they are those of the generator.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { type Cluster, connect } from '@goshawk/client';
import type { Millis } from '@goshawk/core';
import {
  configureGenerator,
  type JournalEntry,
  jobInputOf,
  jobSpecOf,
  type RecordedJob,
  RecordedRuns,
  readJournalExport,
  Tally,
  type TraceJob,
} from '@goshawk/traces';
import { type BenchResult, percentile, printReport, result } from './bench-report.js';
import { allJoined, GOSHAWK } from './daemons.js';
import { faultsIn, starvedIn } from './mixed/checks.js';
import { Folder, note, readOptions } from './script.js';
import { SoakCluster } from './soak/processes.js';
import { killRepeatedly } from './staged/live.js';

const options = readOptions({ seconds: 120, load: 0.9, seed: 1, killed: true });

const WORKERS = 20;
const CAPACITY = ['--cpus', '4', '--resources', 'memory=8GiB,gpu=1'];
/** Number of jobs with which the workload offers about a load of 0.9 to these workers over ten minutes. */
const JOBS = 260;
const SECONDS = 600;
const CUTOFF_SECONDS = 10;
const PARTS = ['interactive', 'batch', 'gang', 'gpu'] as const;
const FRACTIONS = [0.5, 0.9] as const;
const SIMULATIONS = 9;
const KILL_EVERY_MS: Millis = 5_000;
const PATIENCE = { requestTimeoutMs: 60_000, renewMs: 1_000 };

const { load, seconds, seed } = options;
const scale = SECONDS / seconds;
const cutoff = `${CUTOFF_SECONDS / scale}`;
const workload = `mixed:jobs=${JOBS},load=${load},workers=${WORKERS},scale=${scale},seed=${seed}`;
const jobs = [...configureGenerator(workload).generate()];

using folder = new Folder('mixed');
const results: BenchResult[] = [];
const live = await run(join(folder.path, 'live'), 0);
const simulated = await simulate(live);
for (const part of PARTS)
  for (const fraction of FRACTIONS) {
    const of = (seconds: (place: number) => number): number =>
      percentile(
        live.recorded.flatMap(({ job, runtimeSeconds }, place) =>
          job.name === part && runtimeSeconds !== undefined ? [seconds(place)] : [],
        ),
        fraction,
      );
    const inLive = of((place) => live.recorded[place]!.runtimeSeconds!);
    const off = simulated.map((times) => 100 * (of((place) => times[place]!) / inLive - 1));
    results.push(result(`${part}, p${fraction * 100}: live`, 's', [inLive]));
    results.push(result(`${part}, p${fraction * 100}: simulated ÷ live − 1`, '%', off));
  }
const faults = [...live.faults];
if (options.killed) {
  const killed = await run(join(folder.path, 'killed'), KILL_EVERY_MS);
  results.push(result('kills', '', [killed.kills]));
  faults.push(...killed.faults);
}
results.push(result('faults', '', [faults.length]));
printReport('mixed', results, options.json);
for (const fault of faults) note(fault);
process.exitCode = faults.length > 0 ? 1 : 0;

interface MixedResult {
  readonly recorded: readonly RecordedJob[];
  readonly faults: readonly string[];
  readonly kills: number;
  /** File with the exported journals. */
  readonly exported: string;
}

/** Runs the jobs live. @param killEveryMs 0: kills no worker */
async function run(place: string, killEveryMs: Millis): Promise<MixedResult> {
  mkdirSync(place, { recursive: true });
  const cluster = new SoakCluster({
    folder: place,
    schedulers: 1,
    workers: WORKERS,
    workersPerProcess: killEveryMs > 0 ? 1 : 5,
    centralArgs: ['--policy', 'goshawk', '--estimator', 'given', '--cutoff', cutoff],
    workerArgs: CAPACITY,
    onUnexpectedExit: ({ name }, how) => note(`${name} exited unexpectedly: ${how}`),
  });
  let kills = 0;
  try {
    await cluster.start();
    await using client = await connect(cluster.url, PATIENCE);
    await allJoined(client, WORKERS);
    const killing = new AbortController();
    const struck =
      killEveryMs > 0
        ? killRepeatedly(cluster, { killEveryMs, seed, note }, killing.signal)
        : Promise.resolve(0);
    const beganAt = performance.now();
    await Promise.all(jobs.map((job, index) => submitted(client, job, index, beganAt)));
    killing.abort();
    kills = await struck;
  } finally {
    await cluster.close();
  }
  const exported = join(place, 'jobs.journal.jsonl');
  await goshawk(['journal', 'export', join(place, 's0')], exported);
  const runs = new RecordedRuns();
  const entries: JournalEntry[] = [];
  await readJournalExport(exported, (entry) => {
    runs.note(entry);
    entries.push(entry);
  });
  const recorded = runs.jobs(new Tally());
  const missing = jobs.length - recorded.filter(({ runtimeSeconds }) => runtimeSeconds !== undefined).length;
  const faults = [
    ...(missing > 0 ? [`${missing} of ${jobs.length} jobs did not complete`] : []),
    ...faultsIn(entries),
    ...starvedIn(recorded),
  ];
  return { recorded, kills, exported, faults };
}

async function submitted(client: Cluster, job: TraceJob, index: number, beganAt: Millis): Promise<void> {
  await pause(Math.max(0, 1_000 * job.submitSeconds - (performance.now() - beganAt)));
  const { estimateSeconds } = job;
  const estimateMs = estimateSeconds === undefined ? undefined : 1_000 * estimateSeconds;
  const handle = await client.submit(jobInputOf(jobSpecOf(job, estimateMs, `${seed}/${index}`)));
  await handle.wait();
}

/** Simulates the recorded jobs. @returns run times in seconds, in their order, for each of several seeds */
async function simulate({ exported, recorded }: MixedResult): Promise<Float64Array[]> {
  const file = join(folder.path, 'simulated.jsonl');
  const shape = ['--workers', `${WORKERS}`, ...CAPACITY, '--schedulers', '1', '--cutoff', cutoff];
  const how = ['--estimator', 'given', '--durations', 'task', '--network-delay', 'normal:0.5ms,0.2ms'];
  const saved = ['--seeds', `${SIMULATIONS}`, '--save-results', file, '--quiet'];
  await goshawk(['simulate', exported, '--policy', 'goshawk', ...shape, ...how, ...saved]);
  const bySeed = new Map<number, Float64Array>();
  for (const line of readFileSync(file, 'utf8').trimEnd().split('\n').slice(1)) {
    const end = JSON.parse(line) as { seed: number; job: number; runtimeSeconds: number };
    const times = bySeed.get(end.seed) ?? new Float64Array(recorded.length);
    bySeed.set(end.seed, times);
    times[end.job - 1] = end.runtimeSeconds;
  }
  return [...bySeed.values()];
}

/** @param out file for stdout */
async function goshawk(args: readonly string[], out?: string): Promise<void> {
  const child = spawn(process.execPath, [GOSHAWK, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  if (out === undefined) child.stdout.resume();
  else await pipeline(child.stdout, createWriteStream(out));
  const [code] = await exit;
  if (code !== 0) throw new Error(`goshawk ${args[0]} ended with ${code}`);
}
