import { cpus } from 'node:os';

export interface BenchResult {
  readonly name: string;
  readonly unit: string;
  /** Median of the runs. */
  readonly value: number;
  readonly runs: readonly number[];
}

export interface BenchReport {
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
  const rows = made.results.map(({ name, unit, value }) => [
    name,
    Number(value.toPrecision(4)).toString(),
    unit,
  ]);
  process.stdout.write(`${isJson ? JSON.stringify(made) : table(rows)}\n`);
}

/** By nearest rank. */
export function percentile(values: readonly number[], fraction: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = Math.max(1, Math.ceil(fraction * sorted.length));
  return sorted[rank - 1] ?? Number.NaN;
}

/** Columns as wide as their widest cell; the first to the left, the others to the right. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
