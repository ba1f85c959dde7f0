/**
 * Does the simulator tell the truth? The prototype workload is run live and then, job for job at the same
 * times, simulated; the difference of the percentiles is what the simulation is off by.
 *
 *     node bench/dist/fidelity.js [--pairs 5] [--for 40s] [--workload google-like:jobs=3300,seed=12] [--delay 0.5ms] [--json]
 *
 * Pairs differ in seed: other arrivals, other scaled tasks.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CLASSES } from '@goshawk/core';
import type { Comparison, Run } from '@goshawk/report';
import { report, result, table } from './bench-report.js';

const GOSHAWK = fileURLToPath(new URL('../../packages/cli/bin/goshawk.js', import.meta.url));

const { values: options } = parseArgs({
  options: {
    pairs: { type: 'string', default: '5' },
    for: { type: 'string', default: '40s' },
    workload: { type: 'string', default: 'google-like:jobs=3300,seed=12' },
    workers: { type: 'string', default: '100' },
    delay: { type: 'string', default: '0.5ms' },
    json: { type: 'boolean', default: false },
  },
});

const PERCENTILES = ['p50', 'p90'] as const;

function goshawk(args: readonly string[]): Comparison {
  const output = execFileSync(process.execPath, [GOSHAWK, ...args, '--json', '--quiet'], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(output) as Comparison;
}

/** What the live run was told, as the simulation is to be told it. */
function settingsOf({ options: live }: Run): string[] {
  const text = (name: string) => String(live[name]);
  return [
    ...[
      '--cutoff',
      text('cutoff'),
      '--short-partition',
      live.shortPartition === null ? 'none' : text('shortPartition'),
    ],
    ...['--steal-retry', text('stealRetry'), '--cancel', text('cancel'), '--schedulers', text('schedulers')],
  ];
}

function pair(seed: number, folder: string): Map<string, number> {
  const jobs = join(folder, `jobs-${seed}.jsonl`);
  const shape = ['--workers', options.workers];
  const live = goshawk([
    'replay',
    options.workload,
    ...shape,
    '--for',
    options.for,
    '--seed',
    `${seed}`,
    '--save-jobs',
    jobs,
  ]);
  const differences = new Map<string, number>();
  for (const run of live.runs) {
    const simulate = [
      'simulate',
      jobs,
      ...shape,
      '--policy',
      run.policy,
      '--seed',
      `${seed}`,
      '--network-delay',
      options.delay,
    ];
    const simulated = goshawk([...simulate, ...settingsOf(run)]).runs[0]!;
    for (const of of CLASSES) {
      for (const percentile of PERCENTILES) {
        const ratio = simulated.runtimeSeconds[of][percentile]! / run.runtimeSeconds[of][percentile]!;
        differences.set(`${run.policy} ${of} ${percentile}`, 100 * (ratio - 1));
      }
    }
  }
  return differences;
}

const folder = mkdtempSync(join(tmpdir(), 'goshawk-fidelity-'));
/** Simulated over live, less 1, in per cent; one a pair. */
const all = new Map<string, number[]>();
try {
  for (let seed = 1; seed <= Number(options.pairs); seed++) {
    for (const [name, difference] of pair(seed, folder)) {
      all.set(name, [...(all.get(name) ?? []), difference]);
    }
    process.stderr.write(`pair ${seed} of ${options.pairs}\n`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

const results = [...all].map(([name, runs]) => result(name, '% simulated over live', runs));
if (options.json) {
  process.stdout.write(`${JSON.stringify(report('fidelity', results))}\n`);
} else {
  const rows = results.map(({ name, value, runs }) => [
    name,
    `${value.toFixed(1)}%`,
    runs.map((run) => run.toFixed(1)).join(', '),
  ]);
  process.stdout.write(`${table([['simulated over live', 'median', 'each pair'], ...rows])}\n`);
}
