import { cpus } from 'node:os';
import { aligned, nearestRank } from '@goshawk/core';

export interface BenchResult {
  readonly name: string;
  readonly unit: string;
  /** Median of the runs. */
  readonly value: number;
  readonly runs: readonly number[];
}

interface BenchReport {
  readonly schema: 'goshawk.bench/1';
  readonly bench: string;
  readonly machine: { readonly cores: number; readonly node: string; readonly cpu: string };
  readonly results: readonly BenchResult[];
}

export function result(name: string, unit: string, runs: readonly number[]): BenchResult {
  return { name, unit, value: percentile(runs, 0.5), runs };
}

export function report(bench: string, results: readonly BenchResult[]): BenchReport {
  const processors = cpus();
  return {
    schema: 'goshawk.bench/1',
    bench,
    machine: { cores: processors.length, node: process.version, cpu: processors[0]?.model ?? 'unknown' },
    results,
  };
}

/** Returns one result per percentile; names end in `p50`, `p99`. */
export function percentilesOf(
  name: string,
  unit: string,
  values: readonly number[],
  percents: readonly number[] = [50, 99],
): BenchResult[] {
  return percents.map((percent) => result(`${name}p${percent}`, unit, [percentile(values, percent / 100)]));
}

/** Maximum number of single runs that a row of the table shows. */
const SHOWN_RUNS_MAX = 10;

/** Prints results to stdout, as JSON or as a table of medians, with the single runs if they are few. */
export function printReport(bench: string, results: readonly BenchResult[], isJson: boolean): void {
  const rows = results.map(({ name, unit, value, runs }) => {
    const areShown = runs.length > 1 && runs.length <= SHOWN_RUNS_MAX;
    return [name, shown(value), areShown ? runs.map(shown).join(', ') : '', unit];
  });
  process.stdout.write(`${isJson ? JSON.stringify(report(bench, results)) : table(rows)}\n`);
}

/** Prints counts exactly, other values with four digits. */
function shown(value: number): string {
  return `${Number.isInteger(value) ? value : Number(value.toPrecision(4))}`;
}

/** Returns the nearest-rank percentile. */
export function percentile(values: readonly number[], fraction: number): number {
  return nearestRank(Float64Array.from(values).sort(), 100 * fraction);
}

export function table(rows: readonly (readonly string[])[]): string {
  return aligned(rows).join('\n');
}
