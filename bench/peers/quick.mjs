import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOptions } from '../../scripts/options.mjs';
import { percentile } from '../dist/bench-report.js';
import { measurementFile, writeMeasurement } from '../dist/measurement.js';
import { BENCHES } from './benches.mjs';
import * as floor from './floor.mjs';
import * as goshawk from './goshawk.mjs';
import { measure } from './works.mjs';

/**
 * `npm run bench` finds slowdowns since the last measurement. It compares task throughput with bare ZeroMQ, and the
 * simulator with a loop in plain JavaScript, in turn, so that results are ratios that do not depend on the machine.
 * Exits with 1 if a ratio is 20% worse.
 */
const LAST = measurementFile('bench');
const COMMAND = new URL('../../packages/cli/bin/goshawk.js', import.meta.url).pathname;
const WORSE = 1.2;
const WORKS = ['W1', 'W1b', 'W2'];
const SIMULATED = ['google-like:jobs=2000,seed=1', '--workers', '15000', '--quiet', '--json'];
const SHOWN = {
  tasksPerSecond: 'tasks/s, 200 jobs × 100',
  jobsPerSecond: 'jobs/s, one task each',
  p50Ms: 'one job at a time, p50, ms',
  simulateMs: 'simulate, ms',
};

const values = readOptions(
  `npm run bench -- [OPTIONS] finds slowdowns since the last measurement.
npm run bench -- NAME [OPTIONS] runs one measurement: ${BENCHES.join(', ')}.
npm run bench -- NAME --help lists its options.`,
  { rounds: 3, write: false },
);

/** Returns the time of a loop with the typical operations of a simulator, on a heap of numbers and a map. ms */
function loopMs() {
  const began = performance.now();
  const heap = [];
  const seen = new Map();
  let drawn = 1;
  for (let step = 0; step < 3_000_000; step++) {
    drawn = (Math.imul(drawn, 1_664_525) + 1_013_904_223) >>> 0;
    let at = heap.length < 10_000 ? heap.push(drawn) - 1 : 0;
    heap[at] = drawn;
    for (let up = (at - 1) >> 1; at > 0 && heap[up] > heap[at]; at = up, up = (at - 1) >> 1)
      [heap[up], heap[at]] = [heap[at], heap[up]];
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && heap[child + 1] < heap[child]) child++;
      if (heap[at] <= heap[child]) break;
      [heap[at], heap[child]] = [heap[child], heap[at]];
      at = child;
    }
    seen.set(drawn & 0xffff, at);
  }
  return performance.now() - began;
}

/** Returns the time of the whole command. ms */
function simulateMs() {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-bench-'));
  const began = performance.now();
  const { status } = spawnSync(process.execPath, [COMMAND, 'simulate', ...SIMULATED], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ms = performance.now() - began;
  rmSync(folder, { recursive: true, force: true });
  if (status !== 0) throw new Error(`goshawk simulate ended with ${status}`);
  return ms;
}

const rounds = [];
for (let round = 1; round <= values.rounds; round++) {
  const bare = await measure({ start: floor.start, does: WORKS }, WORKS);
  const ours = await measure({ start: goshawk.start, does: WORKS }, WORKS);
  bare.simulateMs = loopMs();
  ours.simulateMs = simulateMs();
  rounds.push({ bare, ours });
  console.error(`round ${round} of ${values.rounds}`);
}
const medianOf = (of) => Number(percentile(rounds.map(of), 0.5).toPrecision(3));
const ratios = new Map(
  Object.keys(SHOWN).map((what) => [what, medianOf(({ bare, ours }) => ours[what] / bare[what])]),
);
const { rows: lastRows } = existsSync(LAST) ? JSON.parse(readFileSync(LAST, 'utf8')).tables[0] : { rows: [] };
const last = new Map(lastRows.map(([name, , , ratio]) => [name, ratio]));
let isWorse = false;
const rows = Object.entries(SHOWN).map(([what, name]) => {
  const ratio = ratios.get(what);
  const before = last.get(name);
  const slower = what.endsWith('Ms') ? ratio / before : before / ratio;
  if (slower >= WORSE) isWorse = true;
  const verdict = slower >= WORSE ? `${Math.round(100 * (slower - 1))}% worse` : '';
  return {
    name,
    ours: medianOf(({ ours }) => ours[what]),
    floor: medianOf(({ bare }) => bare[what]),
    ratio,
    before,
    verdict,
  };
});
console.table(rows);
if (values.write) {
  writeMeasurement(LAST, {
    group: 'Speed',
    title: 'Compared with the floor',
    what:
      'The reference of `npm run bench`: Goshawk compared with bare ZeroMQ with strict slots, eight slots in two processes, and `goshawk ' +
      `simulate ${SIMULATED.slice(0, 3).join(' ')}\` compared with a loop in plain JavaScript. Medians of interleaved rounds, ratios within a round.`,
    commands: [`npm run bench -- --rounds ${values.rounds} --write`],
    tables: [
      {
        columns: ['', 'Goshawk', 'floor', 'ratio'],
        rows: rows.map(({ name, ours, floor: bare, ratio }) => [name, ours, bare, ratio]),
      },
    ],
  });
} else if (isWorse) {
  console.error('bench: at least 20% worse than measurements/bench.json; --write records the new results');
  process.exitCode = 1;
}
