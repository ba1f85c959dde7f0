import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { percentile, printReport, report, result } from './bench-report.js';
import { isSound, type SoakReport, slowdownWithoutCentral, soak } from './soak/run.js';

/**
 * Does a cluster keep its promises while its processes die? A steady load of short and long jobs, and every few seconds
 * one process, central and schedulers included, is killed and started again, or stopped for up to two leases. In the end
 * each accepted job must have its result, once, by the client and by the journals, and memory must be flat.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    workers: { type: 'string', default: '100' },
    'workers-per-process': { type: 'string', default: '5' },
    schedulers: { type: 'string', default: '4' },
    rate: { type: 'string', default: '8' },
    every: { type: 'string', default: '2500' },
    folder: { type: 'string' },
    quiet: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});

const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'goshawk-soak-'));
const beganAt = performance.now();
const soaked = await soak({
  folder,
  seed: Number(values.seed),
  minutes: Number(values.minutes),
  workers: Number(values.workers),
  workersPerProcess: Number(values['workers-per-process']),
  schedulers: Number(values.schedulers),
  jobsPerSecond: Number(values.rate),
  faultEveryMs: Number(values.every),
  note: (line) => {
    if (values.quiet) return;
    process.stderr.write(`${((performance.now() - beganAt) / 1_000).toFixed(1).padStart(7)} s  ${line}\n`);
  },
});
printReport(report('soak', resultsOf(soaked)), values.json);
const isGood = isSound(soaked);
if (!isGood) {
  const { lost, notCompleted, wrong, doubled, endedByThemselves } = soaked;
  process.stderr.write(`${JSON.stringify({ lost, notCompleted, wrong, doubled, endedByThemselves })}\n`);
  process.stderr.write(`logs and journals are in ${folder}\n`);
} else if (values.folder === undefined) rmSync(folder, { recursive: true, force: true });
process.exitCode = isGood ? 0 : 1;

function resultsOf(soaked: SoakReport) {
  const sum = (counts: Readonly<Record<string, number>>): number =>
    Object.values(counts).reduce((total, count) => total + count, 0);
  const { kills, stops, shortMs, shortWithoutCentralMs } = soaked;
  return [
    result('jobs accepted', 'jobs', [soaked.accepted]),
    result('tasks', 'tasks', [soaked.tasks]),
    result('submissions without an answer', 'count', [soaked.unanswered]),
    result('jobs lost', 'jobs', [soaked.lost.length]),
    result('jobs that did not complete', 'jobs', [soaked.notCompleted.length]),
    result('jobs with a wrong result', 'jobs', [soaked.wrong.length]),
    result('results that count twice', 'tasks', [soaked.doubled.length]),
    result('processes that ended by themselves', 'count', [soaked.endedByThemselves.length]),
    result('kills', 'count', [sum(kills)]),
    ...Object.entries(kills).map(([role, count]) => result(`kills: ${role}`, 'count', [count])),
    result('stops', 'count', [sum(stops)]),
    ...Object.entries(stops).map(([role, count]) => result(`stops: ${role}`, 'count', [count])),
    result('tasks run again', 'runs', [soaked.reruns]),
    result('longest time without the end of a job', 'ms', [soaked.longestStallMs]),
    result('slowest job', 'ms', [soaked.slowestJobMs]),
    result('short jobs with central', 'jobs', [shortMs.length]),
    result('short jobs with central: p50', 'ms', [percentile(shortMs, 0.5)]),
    result('short jobs with central: p99', 'ms', [percentile(shortMs, 0.99)]),
    result('short jobs without central', 'jobs', [shortWithoutCentralMs.length]),
    result('short jobs without central: p50', 'ms', [percentile(shortWithoutCentralMs, 0.5)]),
    result('short jobs without central: p99', 'ms', [percentile(shortWithoutCentralMs, 0.99)]),
    result('p50 without central against with it', 'ratio', [slowdownWithoutCentral(soaked)]),
    ...Object.entries(soaked.memory).flatMap(([role, { meanMebibytes, mebibytesPerMinute }]) => [
      result(`memory of a process: ${role}`, 'MiB', [meanMebibytes]),
      result(`growth: ${role}`, 'MiB/min', [mebibytesPerMinute]),
    ]),
  ];
}
