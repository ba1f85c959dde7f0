import type { JobHandle } from '@goshawk/client';
import type { JobDetail } from '@goshawk/core';
import type { Context } from '../context.js';
import { clipLines } from '../terminal/clip.js';
import { painter } from '../terminal/paint.js';
import { jobPage } from './job-page.js';

/** Shows a job on a terminal, in place, until it has ended. */
export async function watchPage(context: Context, job: JobHandle): Promise<void> {
  let drawn = 0;
  for await (const detail of detailsOf(context, job)) {
    const page = clipLines(jobPage(detail, Date.now(), painter(context)), context.columns);
    // Up to where the page before began, and away with it.
    const back = drawn > 0 ? `\u001b[${drawn}A\u001b[J` : '';
    context.out(`${back}${page}`);
    drawn = page.split('\n').length;
  }
}

/** A job again and again, whenever something about it is new; the last time when it has ended. */
export async function* detailsOf(context: Context, job: JobHandle): AsyncGenerator<JobDetail> {
  const signal = context.interrupted;
  for await (const event of job.events({ signal })) {
    yield event.kind === 'ended' ? event.job : await job.describe({ signal });
  }
}
