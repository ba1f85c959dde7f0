/**
 * What an outage of central costs live: a cluster of real processes, each started by itself, runs a workload; central is
 * killed while jobs come, and started again after a while. Runs with each outage, and without one, take turns.
 *
 *     node bench/dist/outage-live.js [WORKLOAD] [--killed never,5,11,22] [--away 20] [--runs 3] [--workers 100]
 *         [--processes 2] [--schedulers 10] [--jobs 3300] [--load 0.9] [--for 60s] [--cutoff 0.0902] [--seed 1]
 *         [--estimator oracle] [--central '--seek 2'] [--keep FOLDER] [--json]
 *
 * `--killed` is in seconds since the first job. `--cutoff` is in seconds of the run: that of the default workload is the
 * 90th percentile of the mean task times of its jobs as they are run, which `goshawk replay` takes by itself. Every run
 * takes a minute. Measure on a calm machine.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { type BenchResult, percentile, printReport, report, result } from './bench-report.js';
import { type Daemon, GOSHAWK, startDaemon } from './daemons.js';
import { Folder, note, readOptions } from './script.js';

const options = readOptions(
  {
    killed: ['never', '5', '11', '22'],
    away: 20,
    runs: 3,
    workers: 100,
    processes: 2,
    schedulers: 10,
    jobs: 3_300,
    load: 0.9,
    for: '60s',
    cutoff: 0.0902,
    seed: 1,
    estimator: 'oracle',
    central: '',
    keep: undefined,
  },
  true,
);

const AWAY_SECONDS = options.away;

/** Of each job, as `goshawk replay --save-results` writes it. */
interface JobRecord {
  readonly submitSeconds: number;
  readonly class: 'short' | 'long';
  readonly outcome: string;
  readonly runtimeSeconds: number;
}

interface Played {
  /** Seconds since the first job; undefined without an outage. */
  readonly killedAt: number | undefined;
  readonly jobs: readonly JobRecord[];
}

/** Of the jobs that came within a time of the kill, in seconds. */
const PHASES: readonly (readonly [name: string, from: number, to: number])[] = [
  ['before the last second', Number.NEGATIVE_INFINITY, -1],
  ['in the second before', -1, 0],
  ['in the two seconds after', 0, 2],
  ['in the rest of the outage', 2, AWAY_SECONDS],
  ['in the two seconds after its end', AWAY_SECONDS, AWAY_SECONDS + 2],
  ['later', AWAY_SECONDS + 2, Number.POSITIVE_INFINITY],
];

async function play(folder: string, killedAt: number | undefined): Promise<Played> {
  const logs = join(folder, 'logs');
  const daemons: Daemon[] = [];
  const start = async (name: string, args: readonly string[]): Promise<Daemon> => {
    const daemon = await startDaemon(name, args, logs);
    daemons.push(daemon);
    return daemon;
  };
  const startCentral = (bind: string): Promise<Daemon> => {
    const settings = options.central.split(' ').filter((word) => word !== '');
    return start('central', ['central', '--bind', bind, '--cutoff', `${options.cutoff}`, ...settings]);
  };
  try {
    const central = await startCentral('tcp://127.0.0.1:0');
    const at = ['--central-url', central.endpoint, '--bind', 'tcp://127.0.0.1:0'];
    const place = (name: string) => [...at, '--name', name, '--data-folder', join(folder, name)];
    const names = (prefix: string, count: number) =>
      Array.from({ length: count }, (_, index) => `${prefix}${index}`);
    for (const name of names('s', options.schedulers)) await start(name, ['scheduler', ...place(name)]);
    const each = options.workers / options.processes;
    for (const name of names('w', options.processes))
      await start(name, ['worker', ...place(name), '--workers', `${each}`]);
    const { child, began } = replay(folder, central.endpoint);
    const ended = once(child, 'exit');
    if (killedAt !== undefined) {
      await began;
      await pause(1_000 * killedAt);
      await central.kill();
      await pause(1_000 * AWAY_SECONDS);
      await startCentral(central.endpoint);
    }
    const [code] = await ended;
    if (code !== 0) throw new Error(`the replay ended with ${code}`);
  } finally {
    await Promise.all(daemons.map((daemon) => daemon.kill()));
  }
  const [, ...lines] = readFileSync(join(folder, 'results.jsonl'), 'utf8').trim().split('\n');
  const jobs = lines.map((line) => JSON.parse(line) as JobRecord);
  const failed = jobs.filter(({ outcome }) => outcome !== 'completed').length;
  if (failed > 0 || jobs.length !== options.jobs)
    throw new Error(`${jobs.length} jobs, of which ${failed} did not complete`);
  return { killedAt, jobs };
}

function replay(folder: string, cluster: string): { child: ChildProcess; began: Promise<void> } {
  const workload = options.positionals[0] ?? '../shared/traces/google-sub.tr';
  const { jobs, load, seed, estimator } = options;
  const args = ['--jobs', `${jobs}`, '--load', `${load}`, '--for', options.for, '--seed', `${seed}`];
  const results = ['--estimator', estimator, '--save-results', join(folder, 'results.jsonl')];
  const child = spawn(
    process.execPath,
    [GOSHAWK, 'replay', workload, '--cluster', cluster, ...args, ...results],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const began = new Promise<void>((resolve) => {
    createInterface({ input: child.stderr! }).on('line', (line) => {
      // The last line of the plan; the first job follows at once.
      if (/ short jobs \(/.test(line)) resolve();
    });
  });
  return { child, began };
}

function secondsOf(jobs: readonly JobRecord[], kind: JobRecord['class']): number[] {
  return jobs.filter((job) => job.class === kind).map(({ runtimeSeconds }) => runtimeSeconds);
}

function resultsOf(name: string, played: readonly Played[], usualP90: number | undefined): BenchResult[] {
  const results = (['short', 'long'] as const).flatMap((kind) =>
    [0.5, 0.9, 0.99].map((share) => {
      const values = played.map(({ jobs }) => percentile(secondsOf(jobs, kind), share));
      return result(`${name}: ${kind} p${100 * share}`, 's', values);
    }),
  );
  if (usualP90 === undefined || played.some(({ killedAt }) => killedAt === undefined)) return results;
  const ratios = played.map(({ jobs }) => percentile(secondsOf(jobs, 'short'), 0.9) / usualP90);
  results.push(result(`${name}: short p90 over that of no outage`, 'ratio', ratios));
  for (const [phase, from, to] of PHASES) {
    const within = played.map(({ jobs, killedAt }) => {
      const isWithin = (at: number): boolean => at >= killedAt! + from && at < killedAt! + to;
      return secondsOf(
        jobs.filter(({ submitSeconds }) => isWithin(submitSeconds)),
        'short',
      );
    });
    if (within.some((values) => values.length === 0)) continue;
    results.push(
      result(
        `${name}: short p90 of those that came ${phase} (${within[0]!.length})`,
        's',
        within.map((values) => percentile(values, 0.9)),
      ),
    );
  }
  return results;
}

const outages = options.killed.map((text) => ({
  text,
  killedAt: text === 'never' ? undefined : Number(text),
}));
using folder = new Folder('outage', options.keep);
const played = new Map<string, Played[]>(outages.map(({ text }) => [text, []]));
for (let run = 1; run <= options.runs; run++) {
  for (const { text, killedAt } of outages) {
    const own = join(folder.path, `killed-${text}-${run}`);
    mkdirSync(own, { recursive: true });
    const one = await play(own, killedAt);
    played.get(text)!.push(one);
    const short = secondsOf(one.jobs, 'short');
    const shown = [0.5, 0.9, 0.99].map((share) => percentile(short, share).toFixed(3)).join('/');
    note(`killed ${text}, run ${run}: short ${shown} s`);
  }
}
const usual = played.get('never')?.map(({ jobs }) => percentile(secondsOf(jobs, 'short'), 0.9));
const usualP90 = usual && percentile(usual, 0.5);
const results = outages.flatMap(({ text }) => {
  const name = text === 'never' ? 'no outage' : `killed after ${text} s`;
  return resultsOf(name, played.get(text)!, usualP90);
});
printReport(report('outage-live', results), options.json);
