import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';

export interface MeasuredTable {
  readonly title?: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (number | string)[])[];
}

const SOURCES = fileURLToPath(new URL('../../packages/', import.meta.url));
const LOAD = loadavg()[0]!.toFixed(1);

/** The file `measurements/NAME.json`. */
export function measurementFile(name: string): string {
  return fileURLToPath(new URL(`../../measurements/${name}.json`, import.meta.url));
}

/**
 * Writes new tables to a file, with machine, date and commit. Title, commands and other fields keep their values unless
 * they are given.
 */
export function writeMeasurement(
  file: string,
  measured: { readonly tables: readonly MeasuredTable[]; readonly [field: string]: unknown },
): void {
  const known = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  const { tables, ...fields } = measured;
  const all = {
    ...known,
    ...fields,
    machine: `${cpus().length} cores, Node ${process.versions.node.replace(/\.\d+$/, '')}, load ${LOAD} before`,
    date: new Date().toISOString().slice(0, 10),
    commit: commit(),
    tables,
  };
  writeFileSync(file, measurementText(all));
}

/** Formats a measurement as JSON, with one line per table row. */
function measurementText(measurement: object): string {
  const lists = /\[\n\s+((?:"(?:[^"\\]|\\.)*"|[^[\]{}"])*?)\n\s+\]/g;
  const text = JSON.stringify(measurement, null, 2);
  return `${text.replace(lists, (_, cells: string) => `[${cells.replace(/\n\s+/g, ' ')}]`)}\n`;
}

/** Returns the commit of the measured sources; null if they have uncommitted changes. */
function commit(): string | null {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: SOURCES, encoding: 'utf8' }).trim();
  try {
    return git('status', '--porcelain', '--', '.') === '' ? git('rev-parse', '--short=10', 'HEAD') : null;
  } catch {
    return null;
  }
}

/**
 * Adds rows to those of the file's first table. The first cell of a row is its workload; earlier rows of a workload that
 * is measured again go away, and all if the columns differ.
 *
 * @param order all workloads
 */
export function mergedTable(
  file: string,
  { columns, rows }: MeasuredTable,
  order: readonly string[],
): MeasuredTable {
  const before: MeasuredTable | undefined = existsSync(file)
    ? JSON.parse(readFileSync(file, 'utf8')).tables[0]
    : undefined;
  const kept = before?.columns.join() === columns.join() ? before.rows : [];
  const again = new Set(rows.map(([workload]) => workload));
  const all = [...kept.filter(([workload]) => !again.has(workload!)), ...rows];
  return { columns, rows: order.flatMap((name) => all.filter(([workload]) => workload === name)) };
}
