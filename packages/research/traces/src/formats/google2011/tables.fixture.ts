import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { EventType } from './events.js';

type Event = keyof typeof EventType;

function micros(seconds: number): number {
  return Math.round(seconds * 1e6);
}

/** Returns a row of job_events. */
export function jobRow(seconds: number, job: number, event: Event): string {
  return `${micros(seconds)},,${job},${EventType[event]},user${job},1,name${job},logical${job}`;
}

/** Returns a row of task_events; the request is `cpu,memory,disk`. */
export function taskRow(
  seconds: number,
  job: number,
  task: number,
  event: Event,
  request = '0.5,0.25,0.125',
) {
  return `${micros(seconds)},,${job},${task},77,${EventType[event]},user${job},1,9,${request},0`;
}

/** Sorts rows by time, as in the tables. */
export function inOrder(rows: readonly string[]): string[] {
  return rows.toSorted((a, b) => Number(a.split(',', 1)[0]) - Number(b.split(',', 1)[0]));
}

/** The parts of a table, each a list of rows. */
export type Parts = readonly (readonly string[])[];

/**
 * Writes a trace folder below `parent`, with parts numbered as in the official trace, and returns its path.
 */
export async function writeTables(
  parent: string,
  tables: { readonly job_events?: Parts; readonly task_events?: Parts },
  { gzip = false }: { readonly gzip?: boolean } = {},
): Promise<string> {
  const folder = await mkdtemp(join(parent, 'tables-'));
  for (const [table, parts] of Object.entries(tables)) {
    await mkdir(join(folder, table));
    for (const [number, part] of parts.entries()) {
      const name = `part-${String(number).padStart(5, '0')}-of-00500.csv${gzip ? '.gz' : ''}`;
      const text = part.map((row) => `${row}\n`).join('');
      await writeFile(join(folder, table, name), gzip ? gzipSync(text) : text);
    }
  }
  return folder;
}
