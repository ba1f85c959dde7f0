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

/** To stdout: as JSON, or as a table of the medians. */
export function printReport(made: BenchReport, isJson: boolean): void {
  const rows = made.results.map(({ name, unit, value }) => [name, shown(value), unit]);
  process.stdout.write(`${isJson ? JSON.stringify(made) : table(rows)}\n`);
}

/** Many values of one kind, of which the percentiles tell. */
interface Spread {
  readonly name: string;
  readonly unit: string;
  readonly values: readonly number[];
}

const FRACTIONS = [0.5, 0.9, 0.99] as const;

/** To stdout: as JSON, a result for each percentile, or as a table with a row for each spread. */
export function printSpreads(bench: string, spreads: readonly Spread[], isJson: boolean): void {
  if (isJson) {
    const results = spreads.flatMap(({ name, unit, values }) =>
      FRACTIONS.map((fraction) =>
        result(`${name}, p${fraction * 100}`, unit, [percentile(values, fraction)]),
      ),
    );
    return printReport(report(bench, results), true);
  }
  const head = ['', 'count', ...FRACTIONS.map((fraction) => `p${fraction * 100}`), ''];
  const rows = spreads.map(({ name, unit, values }) => [
    name,
    `${values.length}`,
    ...FRACTIONS.map((fraction) => shown(percentile(values, fraction))),
    unit,
  ]);
  process.stdout.write(`${table([head, ...rows])}\n`);
}

/** Counts as they are, the rest in four digits. */
function shown(value: number): string {
  return `${Number.isInteger(value) ? value : Number(value.toPrecision(4))}`;
}

/** By nearest rank. */
export function percentile(values: readonly number[], fraction: number): number {
  return nearestRank(Float64Array.from(values).sort(), 100 * fraction);
}

export function table(rows: readonly (readonly string[])[]): string {
  return aligned(rows).join('\n');
}
