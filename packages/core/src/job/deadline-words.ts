import type { Millis } from '../ids.js';
import { formatDuration } from '../text/durations.js';
import type { CentralLine, JobExplanation, NeedView } from './explanation.js';
import { expectedEndOf } from './outline.js';
import { type DeadlineFilter, isFinal, type JobSummary, metDeadline } from './view.js';

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
 * How a job stands to its deadline. `late`: it is expected to end after it. `risk`: the interval of its expected end passes it.
 * `fine`: the interval ends before it. `open`: no end is expected yet.
 */
export const DEADLINE_STATES = ['met', 'missed', 'late', 'risk', 'fine', 'open'] as const;
export type DeadlineState = (typeof DEADLINE_STATES)[number];

/** @param now wall clock. @returns undefined if the job has no deadline */
export function deadlineState(job: JobSummary, now: Millis): DeadlineState | undefined {
  const { deadlineMs, submittedAt } = job;
  if (deadlineMs === undefined) return undefined;
  return deadlineStateOf(submittedAt + deadlineMs, metDeadline(job, now), expectedEndOf(job, now));
}

/**
 * @param deadline wall clock, as the times of the end
 * @param met undefined: not decided yet
 */
export function deadlineStateOf(
  deadline: Millis,
  met: boolean | undefined,
  end: { readonly at: Millis; readonly latest: Millis } | undefined,
): DeadlineState {
  if (met !== undefined) return met ? 'met' : 'missed';
  if (end === undefined) return 'open';
  return end.at > deadline ? 'late' : end.latest > deadline ? 'risk' : 'fine';
}

/** Whether a list filtered by deadline contains the job. */
export function matchesDeadline(filter: DeadlineFilter, job: JobSummary, now: Millis): boolean {
  const state = deadlineState(job, now);
  if (state === undefined) return false;
  return filter === 'any' || state === (filter === 'risk' ? 'late' : filter);
}

/**
 * Explains whether a job meets its deadline: `in 10 min 0 s; it is expected to be met: …`. Follows the word `deadline`. An
 * expected end decides, if there is one, because the latest start considers only the job itself.
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
  const latest = latestStartOf(explained);
  const forecast = forecastWords(job, now);
  if (forecast !== undefined) {
    const served =
      latest === undefined
        ? ''
        : latest.isTooLate
          ? '; the job is served like one without a deadline'
          : latest.inMs <= 0
            ? '; the job comes before all others'
            : `; the job comes before all others in ${formatDuration(latest.inMs)}`;
    return `${left}; ${forecast}${served}`;
  }
  if (isRunTimeUnknown(explained)) return `${left}; the run time of its tasks is not known yet`;
  if (latest === undefined) return left;
  if (latest.isTooLate)
    return `${left}; it can no longer be met, so the job is served like one without a deadline`;
  if (latest.inMs <= 0)
    return `${left}; the latest start was ${formatDuration(-latest.inMs)} ago, so the job comes before all others, and may end late`;
  return `${left}; its waiting tasks must start within ${formatDuration(latest.inMs)}, and from then on the job comes before all others; its end is not known yet`;
}

/** Relates the expected end to the deadline; undefined: the end is unknown. */
export function forecastWords(job: JobSummary, now: Millis): string | undefined {
  const end = expectedEndOf(job, now);
  const state = deadlineState(job, now);
  if (end === undefined || job.deadlineMs === undefined) return undefined;
  const deadline = job.submittedAt + job.deadlineMs;
  const distance = formatDuration(Math.abs(end.at - deadline));
  const latest = formatDuration(Math.max(0, end.latest - deadline));
  if (state === 'late') return `it will probably be missed: the job is expected to end ${distance} after it`;
  if (state === 'risk')
    return `it is at risk: the job is expected to end ${distance} before it, but may end up to ${latest} after it`;
  return `it is expected to be met: the job is expected to end ${distance} before it`;
}

/** Whether the pilots of the job still run. */
function isRunTimeUnknown({ sampling }: Pick<Explained, 'sampling'>): boolean {
  return sampling !== undefined && sampling.decidedMs === undefined;
}
