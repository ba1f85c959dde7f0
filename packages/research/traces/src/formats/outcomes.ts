import type { Tally } from '../tally.js';

const COMPLETED =
  /^(completed?|success|succeeded|successful|finished|done|terminated|pass(ed)?|ok|cd|completing|exited)$/;
const FAILED =
  /^(failed|failure|fail|error|errored|cancell?ed|killed|timeout|timed|evicted|preempted|lost|aborted|deadline|node|boot|out|revoked|f|ca|to|nf|oom|pr|dl)$/;
const UNFINISHED =
  /^(running|pending|queued|waiting|submitted|suspended|resizing|requeued?|ready|created|configuring|stopped|held|hold|signaling|stage|special|r|pd|s|q|unknown)$/;

/**
 * Whether a job in this state becomes part of the workload: completed jobs do, and so do jobs that failed or were
 * cancelled after their start, because they used the cluster; unfinished jobs do not. Counts the latter two.
 */
export function isTaken(state: string, hasRun: boolean, tally: Tally): boolean {
  const word = wordOf(state);
  if (isUnfinished(state)) {
    tally.add({ code: 'jobs-not-ended', what: 'jobs that had not ended: omitted' });
    return false;
  }
  if (!hasRun) return neverRan(tally);
  if (word === '' || COMPLETED.test(word)) return true;
  if (FAILED.test(word)) tally.add(FAILED_JOBS);
  else tally.add({ code: 'states-unknown', what: 'jobs with an unknown state: read as completed' });
  return true;
}

/** Whether a job in this state waits or runs. */
export function isUnfinished(state: string): boolean {
  return UNFINISHED.test(wordOf(state));
}

function wordOf(state: string): string {
  return /[\p{L}\p{N}]+/u.exec(state.toLowerCase())?.[0] ?? '';
}

export const FAILED_JOBS = {
  code: 'jobs-failed',
  what: 'jobs that failed or were cancelled while running: read with the time they ran',
} as const;

export const EARLY_STARTS = {
  code: 'starts-before-submission',
  what: 'jobs that started before their submission: their wait is unknown',
} as const;

export function neverRan(tally: Tally): false {
  tally.add({ code: 'jobs-never-run', what: 'jobs that never ran: omitted' });
  return false;
}
