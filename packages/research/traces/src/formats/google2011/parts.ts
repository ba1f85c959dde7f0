import { join } from 'node:path';
import { WorkloadError } from '../../errors.js';
import { isFolder, namesIn } from '../files.js';

/** The two tables that workloads need; the official trace has more. */
const TABLES = ['job_events', 'task_events'] as const;
type TableName = (typeof TABLES)[number];

const CSV = /\.csv(\.gz)?$/i;
const NUMBERED_PART = /^part-(\d+)-of-\d+\.csv(\.gz)?$/i;

/** Whether a folder is the official trace or one of its tables, by its contents. */
export function holdsTables(entries: readonly string[]): boolean {
  return TABLES.some((table) => hasTable(entries, table)) || entries.some((name) => NUMBERED_PART.test(name));
}

function hasTable(entries: readonly string[], table: TableName): boolean {
  return entries.some((name) => name.replace(CSV, '') === table);
}

/**
 * Finds the files of both tables in order of time. A table is a folder of consecutive parts
 * (`part-00000-of-00500.csv.gz`) or a single file (`job_events.csv`), gzipped or not.
 * @throws WorkloadError if a table is missing or empty, or lacks a part in between
 */
export async function findParts(folder: string): Promise<Record<TableName, readonly string[]>> {
  if (!(await isFolder(folder))) throw partOfATable(folder);
  const entries = await namesIn(folder);
  const missing = TABLES.filter((table) => !hasTable(entries, table));
  if (missing.length === TABLES.length) throw partOfATable(folder);
  if (missing.length > 0) {
    throw new WorkloadError(
      `the folder has no ${missing[0]}`,
      'the official Google trace is read from both tables, job_events and task_events: copy the other one beside it',
      { file: folder },
    );
  }
  return {
    job_events: await partsOf(folder, entries, 'job_events'),
    task_events: await partsOf(folder, entries, 'task_events'),
  };
}

async function partsOf(folder: string, entries: readonly string[], table: TableName): Promise<string[]> {
  const found = entries.filter((name) => name.replace(CSV, '') === table);
  if (found.length > 1) {
    throw new WorkloadError(
      `the folder has ${table} ${found.length} times: ${found.join(', ')}`,
      'keep one of them',
      { file: folder },
    );
  }
  const path = join(folder, found[0]!);
  if (!(await isFolder(path))) return [path];
  const names = (await namesIn(path)).filter((name) => CSV.test(name));
  if (names.length === 0) {
    throw new WorkloadError(
      'the folder has no parts',
      'copy the table into it: part-00000-of-00500.csv.gz and those that follow',
      { file: path },
    );
  }
  checkNumbers(names, path);
  return names.map((name) => join(path, name));
}

/** Checks for missing parts, since tasks that ended in them would seem to run forever. */
function checkNumbers(sortedNames: readonly string[], file: string): void {
  let before: number | undefined;
  for (const name of sortedNames) {
    const match = NUMBERED_PART.exec(name);
    if (match === null) return;
    const number = Number(match[1]);
    if (number === before) {
      throw new WorkloadError(`part ${number} exists twice, plain and gzipped`, 'keep one of them', {
        file,
      });
    }
    if (before !== undefined && number !== before + 1) {
      throw new WorkloadError(
        `part ${before + 1} is missing between ${before} and ${number}`,
        'copy it as well, or use only consecutive parts',
        { file },
      );
    }
    before = number;
  }
}

function partOfATable(file: string): WorkloadError {
  return new WorkloadError(
    'this is only a part of the official Google trace',
    'use the folder that contains both job_events and task_events',
    { file },
  );
}
