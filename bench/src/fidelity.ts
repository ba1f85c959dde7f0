/**
 * Does the simulator tell the truth? The prototype workload is run live, with the delays of its messages
 * measured, and then, job for job at the same times, simulated with these delays; the difference of the
 * percentiles is what the simulation is off by. It is to be within 5% at the median and 10% at the 90th
 * percentile, in the median of all pairs; otherwise the exit code is 1.
 *
 *     node bench/dist/fidelity.js [--pairs 5] [--for 40s] [--policy hawk,sparrow] [--workers 100]
 *         [--workload google-like:jobs=3300,seed=12] [--simulations 5] [--save-delays FOLDER] [--keep FOLDER [--again]] [--json]
 *
 * Pairs differ in seed: other arrivals, other scaled tasks. Measure on a calm machine. `--keep` leaves all that was
 * recorded, and the jobs as they were run; `--again` simulates from such a folder without another live run.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type BenchResult, report, table } from './bench-report.js';
import { type Pair, runPair, simulateAgain } from './fidelity/pair.js';
import { differences, measurements, misses } from './fidelity/results.js';

const { values: options } = parseArgs({
  options: {
    pairs: { type: 'string', default: '5' },
    for: { type: 'string', default: '40s' },
    policy: { type: 'string', default: 'hawk,sparrow' },
    workload: { type: 'string', default: 'google-like:jobs=3300,seed=12' },
    workers: { type: 'string', default: '100' },
    simulations: { type: 'string', default: '5' },
    seed: { type: 'string', default: '1' },
    'save-delays': { type: 'string' },
    keep: { type: 'string' },
    again: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});

function rowsOf(results: readonly BenchResult[]): string[][] {
  const text = (value: number) => value.toFixed(2);
  return results.map(({ name, unit, value, runs }) => [name, text(value), runs.map(text).join(', '), unit]);
}

const folder = options.keep ?? mkdtempSync(join(tmpdir(), 'goshawk-fidelity-'));
const pairs: Pair[] = [];
try {
  const firstSeed = Number(options.seed);
  for (let seed = firstSeed; seed < firstSeed + Number(options.pairs); seed++) {
    for (const policy of options.policy.split(',')) {
      const pair = await (options.again ? simulateAgain : runPair)({
        policy,
        workload: options.workload,
        workers: Number(options.workers),
        pace: ['--for', options.for],
        seed,
        simulations: Number(options.simulations),
        folder,
      });
      pairs.push(pair);
      process.stderr.write(`${policy}, seed ${seed}, load ${pair.loadBefore.toFixed(1)}\n`);
    }
  }
  const saveTo = options['save-delays'];
  if (saveTo !== undefined) {
    mkdirSync(saveTo, { recursive: true });
    for (const { options: of, profile } of pairs) {
      writeFileSync(join(saveTo, `${of.policy}-${of.seed}.json`), JSON.stringify(profile));
    }
  }
} finally {
  if (options.keep === undefined) rmSync(folder, { recursive: true, force: true });
}

const found = differences(pairs);
const seen = measurements(pairs);
if (options.json) {
  process.stdout.write(`${JSON.stringify(report('fidelity', [...found, ...seen]))}\n`);
} else {
  const head = ['', 'median', 'each pair', ''];
  process.stdout.write(`${table([head, ...rowsOf(found)])}\n\n${table([head, ...rowsOf(seen)])}\n`);
}

const missed = misses(found);
for (const { name, value } of missed) process.stderr.write(`${name} is off by ${value.toFixed(1)}%\n`);
process.exitCode = missed.length > 0 ? 1 : 0;
