/**
 * Measures the cost of open dashboard pages. The same jobs are replayed in turn without readers, with readers that send
 * the requests of open pages and draw nothing, and with pages in Chromium, which uses processors too. For a cluster of
 * 10,000 workers that change all the time, it also measures the data that a page receives and its frame times.
 *
 *     npm run bench -- page -- [--rounds 10] [--ways nobody,readers,Chromium] [--pages 5] [--workers 20] [--load 0.6]
 *         [--jobs 2000] [--for 25s] [--cutoff 0.1] [--seed 1] [--shown 10000] [--watch 30] [--write] [--json]
 *
 * A delay is the runtime of a short job minus its longest task. Ratios are within a round; rounds start with different variants.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sumOf } from '@goshawk/core';
import { type BenchResult, percentile, printReport, result } from './bench-report.js';
import { Daemons, GOSHAWK } from './daemons.js';
import { type MeasuredTable, measurementFile, writeMeasurement } from './measurement.js';
import { openPages, watchPage } from './page/chromium.js';
import { openReaders } from './page/readers.js';
import { processorTime } from './proc.js';
import { inTurns } from './rounds.js';
import { Folder, note, readOptions } from './script.js';
import { startUp } from './up.js';

/** The readers of each variant. */
const OPEN = { nobody: undefined, readers: openReaders, Chromium: openPages } as const;
type ReaderKind = keyof typeof OPEN;
/** Kinds of processes. */
const CLUSTER_ROLES = ['central', 'scheduler', 'worker'];
/** The parts of the page that show individual workers or their totals. */
const SHOWN = { workers: 'Workers', '': 'Overview' };

const options = readOptions({
  rounds: 10,
  ways: ['nobody', 'readers', 'Chromium'],
  pages: 5,
  workers: 20,
  load: 0.6,
  workload: 'google-like:jobs=2000,seed=12',
  jobs: 2_000,
  for: '25s',
  cutoff: 0.1,
  seed: 1,
  shown: 10_000,
  watch: 30,
  write: false,
});

interface Measured {
  /** Delays of short jobs, in ms. */
  readonly delays: readonly number[];
  readonly p50: number;
  readonly p99: number;
  /** Use of one processor while jobs arrived and ran, in percent. */
  readonly cluster: number;
  readonly gateway: number;
}

/** A job as `goshawk replay --save-results` writes it. */
interface JobRecord {
  readonly job: number;
  readonly class: 'short' | 'long';
  readonly outcome: string;
  readonly runtimeSeconds: number;
}

/** @returns runtimes of short jobs minus their longest tasks, in ms. */
async function replay(cluster: string, folder: string): Promise<number[]> {
  const [results, jobs] = [join(folder, 'results.jsonl'), join(folder, 'jobs.tr')];
  const { workload, load, seed } = options;
  const pace = ['--jobs', `${options.jobs}`, '--load', `${load}`, '--for', options.for, '--seed', `${seed}`];
  const files = ['--save-results', results, '--save-jobs', jobs];
  const args = ['replay', workload, '--cluster', cluster, ...pace, ...files, '--estimator', 'oracle'];
  await promisify(execFile)(process.execPath, [GOSHAWK, ...args, '--quiet']);
  const longest = linesOf(jobs).map((line) => Math.max(...line.split(' ').slice(3).map(Number)));
  const [, ...records] = linesOf(results).map((line) => JSON.parse(line) as JobRecord);
  if (records.some(({ outcome }) => outcome !== 'completed')) throw new Error('some jobs did not complete');
  return records
    .filter((record) => record.class === 'short')
    .map(({ job, runtimeSeconds }) => 1_000 * (runtimeSeconds - longest[job - 1]!));
}

function linesOf(file: string): string[] {
  return readFileSync(file, 'utf8').trim().split('\n');
}

/** Runs one replay. Without readers there is no gateway either. */
async function measureOnce(
  way: ReaderKind,
  up: { url: string; pid: number },
  folder: string,
): Promise<Measured> {
  const open = OPEN[way];
  const args = ['dashboard', '--listen', '127.0.0.1:0', '--cluster', up.url];
  const dashboard = open && (await new Daemons(folder).start('dashboard', args));
  const pages = dashboard && (await open(dashboard.endpoint, options.pages));
  try {
    const spent = () => {
      const ofCluster = processorTime(up.pid);
      const cluster = sumOf(CLUSTER_ROLES, (kind) => ofCluster.get(kind) ?? 0);
      return { cluster, gateway: dashboard ? (processorTime(dashboard.pid).get('dashboard') ?? 0) : 0 };
    };
    const [before, beganAt] = [spent(), performance.now()];
    const delays = await replay(up.url, folder);
    const [after, ms] = [spent(), performance.now() - beganAt];
    const share = (of: 'cluster' | 'gateway') => (100 * (after[of] - before[of])) / ms;
    const [p50, p99] = [percentile(delays, 0.5), percentile(delays, 0.99)];
    return { delays, p50, p99, cluster: share('cluster'), gateway: share('gateway') };
  } finally {
    await pages?.[Symbol.asyncDispose]();
    await dashboard?.kill();
  }
}

/** Returns results by variant, one measurement per round. */
async function measureAll(): Promise<ReadonlyMap<ReaderKind, readonly Measured[]>> {
  using folder = new Folder('page');
  const shape = ['--workers', `${options.workers}`, '--schedulers', '2', '--cutoff', `${options.cutoff}`];
  await using up = await startUp(folder.path, shape);
  // The first replay warms up the code.
  await replay(up.url, folder.path);
  return await inTurns(options.ways as readonly ReaderKind[], options.rounds, async (way, round) => {
    const load = loadavg()[0]!.toFixed(1);
    const once = await measureOnce(way, up, folder.path);
    const { p50, p99 } = once;
    note(`round ${round + 1}, ${way}, load before ${load}: p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)} ms`);
    return once;
  });
}

function delayResults(measured: ReadonlyMap<ReaderKind, readonly Measured[]>): [ReaderKind, BenchResult[]][] {
  const nobody = measured.get('nobody') ?? [];
  return [...measured].map(([way, runs]) => {
    const of = (name: string, unit: string, value: (one: Measured) => number) =>
      result(`${way}: ${name}`, unit, runs.map(value));
    const over = (name: 'p50' | 'p99') =>
      result(
        `${way}: ${name} over no readers`,
        'ratio',
        runs.map((one, round) => one[name] / (nobody[round]?.[name] ?? Number.NaN)),
      );
    return [
      way,
      [
        of('p50', 'ms', ({ p50 }) => p50),
        of('p99', 'ms', ({ p99 }) => p99),
        over('p50'),
        over('p99'),
        result(`${way}: p99 of all rounds over no readers`, 'ratio', [p99OfAll(runs) / p99OfAll(nobody)]),
        of('cluster', '% of a core', ({ cluster }) => cluster),
        of('gateway', '% of a core', ({ gateway }) => gateway),
      ],
    ];
  });
}

function p99OfAll(runs: readonly Measured[]): number {
  return percentile(
    runs.flatMap(({ delays }) => delays),
    0.99,
  );
}

async function pageResults(): Promise<[string, BenchResult[]][]> {
  const found: [string, BenchResult[]][] = [];
  for (const [address, title] of Object.entries(SHOWN)) {
    const { bytesPerSecond, frames, looks } = await watchPage(address, options.shown, options.watch);
    const ofLooks = frames.toSorted((one, other) => other - one).slice(0, looks);
    const named = `${title} of ${options.shown} workers`;
    found.push([
      title,
      [
        result(`${named}: sent`, 'KB/s', [bytesPerSecond / 1_024]),
        result(`${named}: frames, p95`, 'ms', [percentile(frames, 0.95)]),
        result(`${named}: frames that draw an update`, 'ms', ofLooks),
      ],
    ]);
  }
  return found;
}

function tablesOf(delays: [ReaderKind, BenchResult[]][], shown: [string, BenchResult[]][]): MeasuredTable[] {
  const text = ({ value }: BenchResult, digits: number) => value.toFixed(digits);
  return [
    {
      columns: [
        'who looks',
        'p50, ms',
        'p99, ms',
        'p50 ÷',
        'p99 ÷ (each round)',
        'p99 of all ÷',
        'cluster',
        'gateway',
      ],
      rows: delays.map(([way, [p50, p99, p50Over, p99Over, all, cluster, gateway]]) => [
        way,
        text(p50!, 1),
        text(p99!, 1),
        text(p50Over!, 2),
        way === 'nobody'
          ? '1'
          : `${text(p99Over!, 2)} (${p99Over!.runs.map((ratio) => ratio.toFixed(2)).join(', ')})`,
        text(all!, 2),
        `${text(cluster!, 1)}%`,
        `${text(gateway!, 1)}%`,
      ]),
    },
    {
      columns: [
        'part of the page',
        'sent, KB/s',
        'frames, p95, ms',
        'frame that draws an update, median, ms',
      ],
      rows: shown.map(([title, [sent, p95, drawn]]) => [
        title,
        text(sent!, 1),
        text(p95!, 1),
        text(drawn!, 1),
      ]),
    },
  ];
}

const delays = options.rounds > 0 ? delayResults(await measureAll()) : [];
const shown = options.watch > 0 ? await pageResults() : [];
printReport(
  'page',
  [...delays, ...shown].flatMap(([, results]) => results),
  options.json,
);
if (options.write) writeMeasurement(measurementFile('page'), { tables: tablesOf(delays, shown) });
