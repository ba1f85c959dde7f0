import type { Cluster, JobSubmission } from '@goshawk/client';
import { type Context, type JobWord, jobWords } from '@goshawk/command';
import { GoshawkError } from '@goshawk/core';
import { findJobs } from '../jobs/find-jobs.js';
import type { JobOptions } from './options.js';

/**
 * Returns the ids of the jobs that this one waits for.
 *
 * @throws InputError `unknown-job` for an unknown name
 */
export async function predecessorsNamed(
  context: Context,
  cluster: Cluster,
  options: Pick<JobOptions, 'after' | 'afterOk'>,
  file: JobSubmission,
): Promise<Pick<JobSubmission, 'after' | 'afterOk'>> {
  const named = async (words: readonly JobWord[], isOk: boolean): Promise<string[]> => {
    const jobs = await findJobs(context, cluster, words);
    for (const job of jobs) {
      const before = await job.describe({ signal: context.interrupted }).catch(unlessUnknown);
      if (isOk && (before?.state === 'failed' || before?.state === 'cancelled'))
        context.note(
          `${job.id} ${before.state === 'failed' ? 'has failed' : 'was cancelled'}: the job waits for a retry of it`,
        );
    }
    return jobs.map(({ id }) => id);
  };
  const [after, afterOk] = (['after', 'afterOk'] as const).map((name) =>
    options[name].length > 0
      ? options[name]
      : jobWords((file[name] ?? []).map((each) => (typeof each === 'string' ? each : each.id))),
  ) as [readonly JobWord[], readonly JobWord[]];
  return {
    ...(after.length === 0 ? {} : { after: await named(after, false) }),
    ...(afterOk.length === 0 ? {} : { afterOk: await named(afterOk, true) }),
  };
}

/**
 * Ignores errors about a predecessor that is only unreachable; its scheduler reports later what happened to
 * it.
 */
function unlessUnknown(error: unknown): void {
  if (!(error instanceof GoshawkError) || error.code === 'unknown-job' || error.code === 'interrupted')
    throw error;
}
