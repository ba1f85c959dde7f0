import type { JobHandle } from '@goshawk/client';
import type { JobDetail } from '@goshawk/core';
import type { Context } from '../context.js';

/** Prints what the tasks of a job that completed have returned, in task order; null for nothing. */
export async function showResults(context: Context, handle: JobHandle, job: JobDetail): Promise<void> {
  if (job.state !== 'completed') return;
  const values = await handle.result({ signal: context.interrupted });
  for (const [task, value = null] of values.entries()) {
    if (context.global.json) context.json({ schema: 'goshawk.result/1', job: job.id, task, value });
    else context.out(JSON.stringify(value));
  }
}
