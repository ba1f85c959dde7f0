/**
 * Measures the error of the simulator. The prototype workload runs live, with message delays measured, and is then
 * simulated with these delays, with the same jobs at the same times; the difference of the percentiles is the
 * error of the simulation. The exit code is 1 unless it is within 5% at the median and 10% at the 90th percentile, in
 * the median of all pairs.
 *
 *     node bench/dist/fidelity.js [--pairs 5] [--for 40s] [--policy goshawk,hawk,sparrow] [--workers 100]
 *         [--workload google-like:jobs=3300,seed=12] [--simulations 5] [--save-delays FOLDER] [--json]
 *
 * Pairs have different seeds: other arrivals, other scaled tasks. Measure on an idle machine. The range of the simulations of one
 * pair tells how much chance there is in a live run.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { printReport } from './bench-report.js';
import { type Pair, runPair } from './fidelity/pair.js';
import { differences, measurements, misses } from './fidelity/results.js';
import { Folder, note, readOptions } from './script.js';

const options = readOptions({
  pairs: 5,
  for: '40s',
  policy: ['goshawk', 'hawk', 'sparrow'],
  workload: 'google-like:jobs=3300,seed=12',
  workers: 100,
  simulations: 5,
  seed: 1,
  'save-delays': undefined,
});

using folder = new Folder('fidelity');
const pairs: Pair[] = [];
for (let { seed } = options; seed < options.seed + options.pairs; seed++) {
  for (const policy of options.policy) {
    const pair = await runPair({
      policy,
      workload: options.workload,
      workers: options.workers,
      pace: ['--for', options.for],
      seed,
      simulations: options.simulations,
      folder: folder.path,
    });
    pairs.push(pair);
    note(`${policy}, seed ${seed}, load ${pair.loadBefore.toFixed(1)}`);
  }
}
const saveTo = options['save-delays'];
if (saveTo !== undefined) {
  mkdirSync(saveTo, { recursive: true });
  for (const { options: of, profile } of pairs) {
    writeFileSync(join(saveTo, `${of.policy}-${of.seed}.json`), JSON.stringify(profile));
  }
}

const found = differences(pairs);
printReport('fidelity', [...found, ...measurements(pairs)], options.json);

const missed = misses(found);
for (const { name, value } of missed) note(`${name} is off by ${value.toFixed(1)}%`);
process.exitCode = missed.length > 0 ? 1 : 0;
