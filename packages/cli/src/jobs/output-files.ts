import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { JobHandle, Tasks } from '@goshawk/client';
import { counted, LIMITS, outputPath, type TaskRange, type TaskRow } from '@goshawk/core';
import type { PrintedChunk } from './task-output.js';
import { type Payloads, payloadsOf } from './task-parameters.js';

/** Reports what became of the files that tasks write instead of the log. */
export interface OutputFiles {
  /** Contents of the files that this machine has, in task order. */
  readonly chunks: readonly PrintedChunk[];
  /** Files of started tasks that this machine does not have, with their workers. */
  readonly elsewhere: readonly { readonly path: string; readonly worker: string }[];
  /** The files that were read. */
  readonly read: readonly string[];
  /** Files of which only the end is in `chunks`. */
  readonly cut: readonly string[];
}

interface Wanted {
  readonly tasks?: readonly TaskRange[] | undefined;
  readonly failed: boolean;
  readonly attempt: number | 'last' | 'all';
}

const STREAMS = ['stdout', 'stderr'] as const;

/**
 * Reads the files of `--stdout` and `--stderr` of the last attempts, as far as this machine has them, such as with a shared file
 * system or a cluster on this machine. Empty if the job has none.
 */
export async function outputFiles(
  job: Pick<JobHandle, 'id' | 'describe' | 'tasksPage'>,
  { tasks, failed, attempt }: Wanted,
  signal: AbortSignal,
): Promise<OutputFiles> {
  const found = {
    chunks: [] as PrintedChunk[],
    elsewhere: [] as OutputFiles['elsewhere'][number][],
    read: [] as string[],
    cut: [] as string[],
  };
  const payloads = await payloadsOf(job, signal);
  if (payloads === undefined || !hasFiles(payloads)) return found;
  const isWanted = ({ index, attempt: last, state }: TaskRow): boolean =>
    last > 0 &&
    (!failed || state === 'failed') &&
    (typeof attempt !== 'number' || attempt === last) &&
    (tasks === undefined || tasks.some((range) => index >= range.first && index <= range.last));
  for (let from: number | undefined = 0; from !== undefined; ) {
    const page: Tasks = await job.tasksPage({ from, signal });
    for (const task of page.tasks.filter(isWanted)) {
      const seen = new Set<string>();
      for (const stream of STREAMS) {
        const path = pathOf(payloads, job.id, task, stream);
        // Both streams of a task may write to one file.
        if (path === undefined || seen.has(path)) continue;
        seen.add(path);
        const content = endOf(path);
        if (content === undefined) found.elsewhere.push({ path, worker: task.worker ?? '' });
        else {
          found.read.push(path);
          if (content.isCut) found.cut.push(path);
          found.chunks.push({ task: task.index, attempt: task.attempt, stream, bytes: content.bytes });
        }
      }
    }
    from = page.next;
  }
  return found;
}

function hasFiles(payloads: Payloads): boolean {
  for (const payload of payloads.distinct())
    if ('exec' in payload && (payload.stdout !== undefined || payload.stderr !== undefined)) return true;
  return false;
}

function pathOf(
  payloads: Payloads,
  job: string,
  { index, attempt }: TaskRow,
  stream: (typeof STREAMS)[number],
): string | undefined {
  const payload = payloads.of(index);
  if (payload === undefined || !('exec' in payload)) return undefined;
  const path = payload[stream];
  if (path === undefined) return undefined;
  const filled = outputPath(path, { job, index, attempt });
  return payload.cwd === undefined ? filled : resolve(payload.cwd, filled);
}

/** Returns the last bytes of a regular file, as many as the log keeps; undefined if this machine cannot read it. */
function endOf(path: string): { readonly bytes: Uint8Array; readonly isCut: boolean } | undefined {
  let file: number;
  try {
    // Opening a pipe would wait for its writer.
    if (!statSync(path).isFile()) return undefined;
    file = openSync(path, 'r');
  } catch {
    return undefined;
  }
  try {
    const stat = fstatSync(file);
    const bytes = new Uint8Array(Math.min(stat.size, LIMITS.outputBytesMax));
    const length = readSync(file, bytes, 0, bytes.length, stat.size - bytes.length);
    return { bytes: bytes.subarray(0, length), isCut: stat.size > bytes.length };
  } finally {
    closeSync(file);
  }
}

/** Returns lines that name the files that were printed, and those that were not, or not completely. */
export function outputFileLines({ read, elsewhere, cut }: OutputFiles): string[] {
  const named = (paths: readonly string[]): string =>
    `${paths[0]}${paths.length === 1 ? '' : ` and ${counted(paths.length - 1, 'other file')}`}`;
  const workers = [...new Set(elsewhere.map(({ worker }) => worker))];
  return [
    ...(read.length === 0 ? [] : [`printed from ${named(read)} on this machine`]),
    ...(cut.length === 0
      ? []
      : [`only the last ${LIMITS.outputBytesMax} bytes are printed of ${named(cut)}`]),
    ...(elsewhere.length === 0
      ? []
      : [
          `output is in ${named(elsewhere.map(({ path }) => path))} on ${workers.length === 1 ? `worker ${workers[0]}` : counted(workers.length, 'worker')}, which this machine does not have`,
        ]),
  ];
}
