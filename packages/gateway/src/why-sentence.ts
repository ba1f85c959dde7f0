import type { ExplainedJob } from '@goshawk/client';
import {
  counted,
  expectedWaitMs,
  formatDuration,
  isFinal,
  lendingWords,
  type Millis,
  needOf,
  predecessorWords,
  sumOf,
  WAIT_PHASE_WORDS,
  WAITING_WORDS,
} from '@goshawk/core';

/**
 * Returns one sentence: why a job waits, or how its time was spent. `goshawk why` prints the details.
 *
 * @param now wall clock
 */
export function whySentence(explained: ExplainedJob, now: Millis): string {
  const { job, task } = explained;
  const sentence = isFinal(job.state) ? ended(explained) : waits(explained, now);
  const lending = task === undefined ? '' : lendingWords(task, task.ranMs);
  return lending === '' ? sentence : `${sentence} Task ${task!.task} ${lending}.`;
}

function waits(explained: ExplainedJob, now: Millis): string {
  const { job, waiting, central } = explained;
  const most = mainWait(waiting);
  const running = `${counted(job.tasks.running, 'task')} ${job.tasks.running === 1 ? 'runs' : 'run'}`;
  if (most === undefined || most.reason === 'stage') {
    const later = sumOf(waiting, ({ tasks }) => tasks);
    if (later === 0) return `${running}, and none waits.`;
    return `${running}; ${counted(later, 'task')} ${later === 1 ? 'waits' : 'wait'} for earlier stages to complete.`;
  }
  const { waitedMs, reason, missing } = most;
  const need = central === undefined ? undefined : needOf(most, central.needs);
  // Pilots and other tasks are separate groups, which matters only to central.
  const tasks =
    need === undefined
      ? sumOf(waiting, (group) => (group.reason === reason && group.missing === missing ? group.tasks : 0))
      : most.tasks;
  const head = `${counted(tasks, 'task')} ${tasks === 1 ? 'has' : 'have'} waited ${formatDuration(waitedMs)}: ${WAITING_WORDS[reason].why}`;
  if (reason === 'other-job') return `${head}: ${(explained.after ?? []).map(predecessorWords).join('; ')}.`;
  if (reason === 'begin' && job.beginAt !== undefined)
    return `${head}: in ${formatDuration(Math.max(0, job.beginAt - now))}.`;
  if (missing !== undefined) return `${head}: ${missing}.`;
  if (need === undefined || central === undefined) return `${head}.`;
  if (need.why !== undefined) return `${head}; ${need.why}.`;
  const expected = need.starts?.p50 ?? expectedWaitMs(need, central);
  const range =
    need.starts === undefined
      ? ''
      : ` (${formatDuration(need.starts.p10)} to ${formatDuration(need.starts.p90)} in 8 of 10 cases)`;
  const when = expected === undefined ? '' : `, in about ${formatDuration(expected)}${range}`;
  const { jobs } = need.ahead;
  const place =
    jobs === 0 ? 'next in order' : `after ${counted(need.ahead.tasks, 'task')} of ${counted(jobs, 'job')}`;
  return `${head}; ${place}${when}.`;
}

/** Returns the largest group of waiting tasks. Tasks of later stages wait as planned, so others come first. */
export function mainWait(waiting: ExplainedJob['waiting']): ExplainedJob['waiting'][number] | undefined {
  const isLater = ({ reason }: ExplainedJob['waiting'][number]) => (reason === 'stage' ? 1 : 0);
  return waiting.toSorted((one, other) => isLater(one) - isLater(other) || other.tasks - one.tasks)[0];
}

function ended({ job, waits, waitSums = [], wastedMs }: ExplainedJob): string {
  const { startedMs, endedMs = 0, state } = job;
  if (startedMs === undefined)
    return `It ${state === 'cancelled' ? 'was cancelled' : 'ended'} before anything started.`;
  const after = `${state === 'cancelled' ? 'Cancelled' : state === 'failed' ? 'Failed' : 'Completed'} after ${formatDuration(endedMs)}`;
  const isOne = waits?.tasks === 1;
  const first = `${formatDuration(startedMs)} until ${isOne ? 'it' : 'the first task'} started`;
  // The spread begins when a task is ready; earlier stages and pilots end before.
  const ready = waitSums.some(({ phase }) => phase !== 'worker' && phase !== 'retry') ? ' once ready' : '';
  const last =
    waits === undefined || isOne
      ? ''
      : `, and 90% of the tasks waited ${formatDuration(waits.p90)} or less${ready}`;
  const longest = waitSums.toSorted((one, other) => other.tasks * other.meanMs - one.tasks * one.meanMs)[0];
  const most = longest === undefined ? '' : `; most of the waiting was ${WAIT_PHASE_WORDS[longest.phase]}`;
  const lost = wastedMs > 0 ? `; ${formatDuration(wastedMs)} were spent in unsuccessful attempts` : '';
  return `${after}: ${first}${last}${most}${lost}.`;
}
