import type { JobHandle, LogChunk } from '@goshawk/client';
import type { Context } from '../context.js';
import {
  inTaskOrder,
  jsonOutput,
  type OutputSink,
  prefixedOutput,
  rawOutput,
  sortedOutput,
  wholeLines,
} from './task-output.js';

interface LogsRequest {
  readonly task?: number | undefined;
  readonly failed: boolean;
  /** Goes on until the job has ended, in the order in which things are printed. */
  readonly follow: boolean;
  /** Only the last lines of each task of what is there already. */
  readonly tail?: number | undefined;
  /** Put the task before each line. */
  readonly isPrefixed: boolean;
  /** Of a live stream: print it task by task once it has ended. */
  readonly isSorted?: boolean;
}

/** Passes on what tasks have printed; without `follow` in task order. */
export async function showLogs(
  context: Context,
  job: JobHandle,
  request: LogsRequest,
  signal: AbortSignal,
): Promise<void> {
  const sink = sinkFor(context, job.id, request);
  const { task, failed, follow, tail } = request;
  let held: LogChunk[] | undefined = follow && tail === undefined ? undefined : [];
  const release = (): void => {
    const wanted = tail === undefined ? held : lastLines(held ?? [], tail);
    held = undefined;
    for (const chunk of follow ? (wanted ?? []) : inTaskOrder(wanted ?? [])) sink.write(chunk);
  };
  const onDropped = (): void => context.note('some older output is gone: schedulers keep a limited amount');
  const chunks = job.logs({ task, failed, follow, signal, onDropped, onCaughtUp: release });
  for await (const chunk of chunks) {
    if (held === undefined) sink.write(chunk);
    else held.push(chunk);
  }
  if (held !== undefined) release();
  sink.end();
}

function sinkFor(context: Context, job: string, { isPrefixed, isSorted = false }: LogsRequest): OutputSink {
  if (context.global.json) return jsonOutput(context, job);
  if (isSorted) return sortedOutput(context);
  return isPrefixed ? prefixedOutput(context) : rawOutput(context);
}

/** The last lines of each task, both streams and all attempts together. */
export function lastLines(chunks: readonly LogChunk[], count: number): LogChunk[] {
  const lines: LogChunk[] = [];
  const sink: OutputSink = wholeLines((line) => lines.push(line));
  for (const chunk of chunks) sink.write(chunk);
  sink.end();
  const left = new Map<number, number>();
  for (const { task } of lines) left.set(task, (left.get(task) ?? 0) + 1);
  return lines.filter(({ task }) => {
    const remaining = left.get(task)!;
    left.set(task, remaining - 1);
    return remaining <= count;
  });
}
