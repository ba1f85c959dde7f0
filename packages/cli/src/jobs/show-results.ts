import type { JobHandle } from '@goshawk/client';
import { type JobDetail, jobJson } from '@goshawk/core';
import type { Context } from '../context.js';

/** What the tasks of a job that completed have returned, in task order; null for nothing. */
async function resultsOf(context: Context, handle: JobHandle, job: JobDetail): Promise<unknown[]> {
  if (job.state !== 'completed') return [];
  const values = await handle.result({ signal: context.interrupted });
  return values.map((value = null) => value);
}

/** Prints the results, a line a task. */
export async function showResults(context: Context, handle: JobHandle, job: JobDetail): Promise<void> {
  for (const value of await resultsOf(context, handle, job)) context.out(JSON.stringify(value));
}

/** `goshawk.job/1`, with `results` where they are wanted. */
export async function endedJson(
  context: Context,
  handle: JobHandle,
  job: JobDetail,
  withResults: boolean,
): Promise<Record<string, unknown>> {
  const ended = jobJson(job, Date.now());
  return withResults ? { ...ended, results: await resultsOf(context, handle, job) } : ended;
}
