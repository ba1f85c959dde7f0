import type { JobHandle, LogChunk } from '@goshawk/client';
import type { Context } from '../context.js';
import { inTaskOrder, lastLines } from './collected-output.js';
import { jsonOutput, type OutputSink, prefixedOutput, rawOutput } from './task-output.js';

interface LogsRequest {
  readonly task?: number | undefined;
  readonly failed: boolean;
  /** Goes on until the job has ended, in the order in which things are printed. */
  readonly follow: boolean;
  /** Only the last lines of each task of what is there already. */
  readonly tail?: number | undefined;
  /** Put the task before each line. */
  readonly isPrefixed: boolean;
}

/** Passes on what tasks have printed; without `follow` in task order. */
export async function showLogs(
  context: Context,
  job: JobHandle,
  request: LogsRequest,
  signal: AbortSignal,
): Promise<void> {
  const sink = sinkFor(context, job.id, request.isPrefixed);
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

function sinkFor(context: Context, job: string, isPrefixed: boolean): OutputSink {
  if (context.global.json) return jsonOutput(context, job);
  return isPrefixed ? prefixedOutput(context) : rawOutput(context);
}
