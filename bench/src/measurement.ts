import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';

export interface MeasuredTable {
  readonly title?: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (number | string)[])[];
}

const FOLDER = new URL('../../measurements/', import.meta.url);

/**
 * Puts new figures into `measurements/NAME.json`, with machine, date and commit. Title, commands and what was compared stay.
 *
 * @throws where there is no such file
 */
export function writeMeasurement(name: string, tables: readonly MeasuredTable[]): void {
  const file = new URL(`${name}.json`, FOLDER);
  const known = JSON.parse(readFileSync(file, 'utf8'));
  const measured = {
    ...known,
    machine: `${cpus().length} cores, Node ${process.versions.node.replace(/\.\d+$/, '')}`,
    date: new Date().toISOString().slice(0, 10),
    commit: commit(),
    tables,
  };
  writeFileSync(file, `${JSON.stringify(measured, undefined, 2)}\n`);
}

/** Of the sources that were measured; null where they have changed since. */
function commit(): string | null {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: FOLDER, encoding: 'utf8' }).trim();
  try {
    return git('status', '--porcelain', '--', '../packages') === ''
      ? git('rev-parse', '--short=10', 'HEAD')
      : null;
  } catch {
    return null;
  }
}
