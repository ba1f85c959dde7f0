import type { Millis } from '../ids.js';
import { formatDuration } from '../text/durations.js';
import type { CentralLine, JobExplanation, NeedView } from './explanation.js';
import { isFinal } from './view.js';

type Explained = Pick<JobExplanation, 'job' | 'sampling'> & { readonly central: CentralLine | undefined };

/**
 * Returns when a job must start to meet its deadline; undefined without waiting tasks or a deadline, before the pilots
 * have measured its run time, and under policies that do not plan for deadlines.
 */
export function latestStartOf(explained: Omit<Explained, 'job'>): NeedView['latestStart'] {
  if (isRunTimeUnknown(explained)) return undefined;
  const { central } = explained;
  return central?.needs.find(({ latestStart }) => latestStart !== undefined)?.latestStart;
}

/**
 * Explains whether a job meets its deadline: `in 10 min 0 s; it can be met if the waiting tasks start within 8 min
 * 0 s, and …`. Follows the word `deadline`.
 *
 * @param now wall clock, ms since 1970
 * @returns undefined if the job has no deadline
 */
export function deadlineSentence(explained: Explained, now: Millis): string | undefined {
  const { job } = explained;
  const { deadlineMs, endedMs } = job;
  if (deadlineMs === undefined) return undefined;
  if (isFinal(job.state)) {
    if (job.state !== 'completed' || endedMs === undefined) return 'missed: the job did not complete';
    const sparedMs = deadlineMs - endedMs;
    return sparedMs >= 0
      ? `met, ${formatDuration(sparedMs)} before it`
      : `missed by ${formatDuration(-sparedMs)}`;
  }
  const leftMs = job.submittedAt + deadlineMs - now;
  if (leftMs < 0) return `missed ${formatDuration(-leftMs)} ago`;
  const left = `in ${formatDuration(leftMs)}`;
  if (isRunTimeUnknown(explained)) return `${left}; the run time of its tasks is not known yet`;
  const latest = latestStartOf(explained);
  if (latest === undefined) return left;
  if (latest.isTooLate)
    return `${left}; it can no longer be met, so the job is served like one without a deadline`;
  if (latest.inMs <= 0)
    return `${left}; the latest start was ${formatDuration(-latest.inMs)} ago, so the job comes before all others, and may end late`;
  return `${left}; it can be met if the waiting tasks start within ${formatDuration(latest.inMs)}, and from then on the job comes before all others`;
}

/** Whether the pilots of the job still run. */
function isRunTimeUnknown({ sampling }: Pick<Explained, 'sampling'>): boolean {
  return sampling !== undefined && sampling.decidedMs === undefined;
}
