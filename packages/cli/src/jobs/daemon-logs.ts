import fs, { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Context, plain } from '@goshawk/command';
import { findCluster } from '@goshawk/command/cluster';
import { InputError, readRegularFile } from '@goshawk/core';

/** Selects lines of the logs of daemons. */
export interface WantedLines {
  /** Id of a job that the lines are about. */
  readonly job?: string | undefined;
  /** Kinds of events. */
  readonly kinds?: readonly string[] | undefined;
  /** Folder of the logs; default: that of the local cluster. */
  readonly folder?: string | undefined;
}

/**
 * Prints what the processes of a local cluster logged, in chronological order.
 *
 * @throws InputError if the folder of the logs is unknown or does not exist
 */
export async function showDaemonLogs(context: Context, { job, kinds, folder }: WantedLines): Promise<void> {
  const lines = readLogs(folder ?? (await logsOfLocalCluster(context)));
  const wanted = lines
    .filter(({ fields }) => job === undefined || isAbout(fields, job))
    .filter(({ fields }) => kinds === undefined || kinds.includes(String(fields.event)))
    .sort((one, other) => (one.time < other.time ? -1 : one.time > other.time ? 1 : 0));
  if (context.global.json) for (const { fields } of wanted) context.out(JSON.stringify(fields));
  else for (const line of wanted) context.out(shown(line));
}

interface LogLine {
  readonly time: string;
  /** Process that wrote the line. */
  readonly by: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

async function logsOfLocalCluster(context: Context): Promise<string> {
  const { dataFolder } = await findCluster(context);
  if (dataFolder !== undefined) return join(dataFolder, 'logs');
  throw new InputError(
    'no-logs',
    'no `goshawk up` of this user runs this cluster, so its logs are elsewhere',
    'pass their folder with --folder, or filter the JSON lines there: jq \'select(.job == "ID" or (.jobs // [] | index("ID")))\'',
  );
}

/** Reads all logs in a folder, with rotated files. Lines that are not JSON are skipped. */
function readLogs(folder: string): LogLine[] {
  if (!existsSync(folder)) throw new InputError('no-logs', `the folder ${folder} does not exist`);
  const lines: LogLine[] = [];
  for (const file of readdirSync(folder)) {
    const name = /^(.+)\.log(\.1)?$/.exec(file)?.[1];
    if (name === undefined) continue;
    for (const text of Buffer.from(readRegularFile(fs, join(folder, file)))
      .toString()
      .split('\n')) {
      const fields = parsed(text);
      if (fields !== undefined) lines.push({ time: String(fields.time ?? ''), by: name, fields });
    }
  }
  return lines;
}

function parsed(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    // The process may have been killed while writing the line.
    return undefined;
  }
}

/** Reports whether a line names the job, alone or among the jobs that a loss affects. */
function isAbout({ job, jobs }: LogLine['fields'], id: string): boolean {
  return job === id || (Array.isArray(jobs) && jobs.includes(id));
}

const HIDDEN: ReadonlySet<string> = new Set([
  'time',
  'level',
  'msg',
  'role',
  'event',
  'pid',
  'hostname',
  'name',
]);

function shown({ time, by, fields }: LogLine): string {
  const rest = Object.entries(fields)
    .filter(([name, value]) => !HIDDEN.has(name) && value !== '' && value !== null)
    .map(([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : String(value)}`);
  return plain([time, by, String(fields.msg ?? ''), ...rest].join('  '));
}
