import type { JobHandle } from '@goshawk/client';
import type { Context } from '@goshawk/command';
import { GoshawkError, type JobDetail, jobJson, type Millis } from '@goshawk/core';
import { endedJson, showResults } from './show-results.js';
import { exitCodeOf, leave, waitForJobs } from './wait-for-jobs.js';
import { outcomeText } from './words.js';

interface Options {
  /** Whether to wait only for the first job to end. */
  readonly any?: boolean;
  /** Whether to print the results of each job too. */
  readonly results?: boolean;
  readonly waitTimeout?: Millis | undefined;
  /** Whether the jobs have just been retried. */
  readonly retried?: boolean;
}

/**
 * Waits for jobs to end and prints how each ended.
 *
 * @returns the exit code
 */
export async function awaitEnds(
  context: Context,
  handles: readonly JobHandle[],
  { any = false, results = false, waitTimeout, retried = false }: Options = {},
): Promise<number> {
  const { json } = context.global;
  const known: JobDetail[] = [];
  const beganAt = performance.now();
  const text = (job: JobDetail, isColored: boolean): string =>
    outcomeText(job, isColored, retried ? performance.now() - beganAt : undefined);
  const showAllResults = async (): Promise<void> => {
    // In the order of the arguments, because the values of modules do not name their job.
    for (const handle of results ? handles : []) {
      const job = known.find(({ id }) => id === handle.id);
      if (job === undefined) continue;
      if (json) context.json(await endedJson(context, handle, job, true));
      else await showResults(context, handle);
    }
  };
  try {
    const ended = await waitForJobs(context, handles, {
      any,
      timeoutMs: waitTimeout,
      ended: (job) => {
        known.push(job);
        if (json && !results) context.json(jobJson(job, Date.now()));
        else if (!json && results) context.note(text(job, context.errorColor));
        else if (!json) context.out(text(job, context.color));
      },
    });
    await showAllResults();
    return exitCodeOf(ended);
  } catch (error) {
    // The jobs that have ended have results, even if others have not.
    if (error instanceof GoshawkError && !context.interrupted.aborted) await showAllResults();
    return leave(context, error);
  }
}
