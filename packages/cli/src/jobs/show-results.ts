import type { JobHandle, TaskResult } from '@goshawk/client';
import type { Context } from '@goshawk/command';
import { type JobDetail, jobJson } from '@goshawk/core';

/**
 * Prints the results of an ended job, one JSON line per task in index order: the return value of a module
 * task, and the whole result of a command or of a task that failed or was cancelled.
 */
export async function showResults(context: Context, handle: JobHandle): Promise<void> {
  const signal = context.interrupted;
  for await (const result of handle.eachResult({ signal })) context.out(JSON.stringify(resultLine(result)));
}

/** Returns the value of a completed module task, otherwise the whole result. */
export function resultLine(result: TaskResult): unknown {
  return result.state === 'completed' && result.exitCode === null ? result.value : result;
}

/** Returns `goshawk.job/1`, with `results` if requested. */
export async function endedJson(
  context: Context,
  handle: JobHandle,
  job: JobDetail,
  withResults: boolean,
): Promise<ReturnType<typeof jobJson>> {
  if (!withResults) return jobJson(job, Date.now());
  const results = await handle.results({ wait: false, signal: context.interrupted });
  return jobJson(job, Date.now(), { results });
}
