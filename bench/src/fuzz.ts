import { sumOf } from '@goshawk/core';
import { type BenchResult, percentile, printReport, result } from './bench-report.js';
import { type FuzzResult, fuzz } from './fuzz/run.js';
import { note, readOptions } from './script.js';

/**
 * Attacks a cluster with invalid input. Random bytes, frames with some bytes changed, valid frames of every type,
 * replayed frames and HTTP requests go to every socket of a real cluster, once with keys (from an attacker with a
 * client's key and one without) and once without keys, while jobs are submitted to it.
 *
 * The exit code is 1 if a process has ended or grown, or a job has failed.
 */

/** Maximum growth of a process after it was attacked, as a fraction of its memory. */
const GROWTH_MAX = 0.2;

interface Run {
  readonly name: string;
  readonly result: FuzzResult;
}

function totalOf({ inputs }: FuzzResult): number {
  return sumOf(Object.values(inputs));
}

function results(runs: readonly Run[]): BenchResult[] {
  return runs.flatMap(({ name, result: run }) => [
    result(`inputs, ${name}`, 'count', [totalOf(run)]),
    result(`inputs/s, ${name}`, '1/s', [totalOf(run) / run.seconds]),
    result(`processes ended, ${name}`, 'count', [run.crashed.length]),
    result(`jobs completed, ${name}`, 'count', [run.jobs.completed]),
    result(`jobs failed, ${name}`, 'count', [run.jobs.failed]),
    result(`job p50, ${name}`, 'ms', [percentile(run.jobs.ms, 0.5)]),
    result(`job p99, ${name}`, 'ms', [percentile(run.jobs.ms, 0.99)]),
    result(`job p50 before, ${name}`, 'ms', [percentile(run.beforeMs, 0.5)]),
    ...Object.entries(run.delayMs).map(([role, ms]) =>
      result(`timers late p99 of ${role}, ${name}`, 'ms', [ms]),
    ),
    ...Object.entries(run.memory).map(([role, [before]]) =>
      result(`memory of ${role} before, ${name}`, 'MiB', [before]),
    ),
    ...Object.entries(run.memory).map(([role, [before, after]]) =>
      result(`growth of ${role}, ${name}`, 'MiB', [after - before]),
    ),
    ...Object.entries(run.inputs).map(([kind, count]) => result(`${kind}, ${name}`, 'count', [count])),
  ]);
}

function problems(runs: readonly Run[]): string[] {
  return runs.flatMap(({ name, result: { crashed, jobs, memory } }) => [
    ...crashed.map((role) => `${name}: ${role} ended`),
    ...(jobs.failed > 0 ? [`${name}: ${jobs.failed} jobs failed`] : []),
    ...Object.entries(memory)
      .filter(([, [before, after]]) => after / before > 1 + GROWTH_MAX)
      .map(([role, [before, after]]) => `${name}: ${role} grew from ${before} to ${after} MiB`),
  ]);
}

const options = readOptions({ inputs: 1_200_000, seed: 1 });
const runs: Run[] = [];
for (const hasKeys of [true, false]) {
  const name = hasKeys ? 'with keys' : 'without keys';
  const inputs = options.inputs / 2;
  const noteOfRun = (line: string): void => note(`${name}: ${line}`);
  const result = await fuzz({ seed: options.seed, inputs, hasKeys, note: noteOfRun });
  runs.push({ name, result });
  noteOfRun(JSON.stringify(result.refused));
}
printReport('fuzz', results(runs), options.json);
for (const problem of problems(runs)) note(problem);
process.exitCode = problems(runs).length > 0 ? 1 : 0;
