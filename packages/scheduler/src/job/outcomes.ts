import {
  COMPLETED,
  DEADLINE_MISSED,
  formatDuration,
  isExcused,
  JOB_GIVEN_UP,
  LIMITS,
  LOST_BESIDE_ANOTHER,
  type Millis,
  type Outcome,
  startFault,
  TIME_LIMIT,
} from '@goshawk/core';

/** How the end of an attempt is handled. */
export type EndClass =
  | 'completed'
  /** The attempt ended because its task or job was cancelled. */
  | 'killed'
  /** The attempt was unsuccessful, but not because of its task. */
  | 'excused'
  | 'lost'
  | 'failed';

/** Determines how the end of an attempt counts, before retries are considered. */
export function classifyEnd(outcome: Outcome, isCancelling: boolean): EndClass {
  const { kind } = outcome;
  if (kind === 'completed') return kind;
  if (kind === 'cancelled' && isCancelling) return 'killed';
  if (isExcused(outcome)) return 'excused';
  return kind === 'lost' ? kind : 'failed';
}

/** Whether an excused attempt counts as lost: it had started. */
export function isExcusedLoss(outcome: Outcome): boolean {
  return startFault(outcome) === undefined;
}

/** Clocks may differ by this much between the machine that accepted the job and the one that took it over. */
const CLOCKS_APART_MAX_MS = 60_000;

/** Bounds a duration that a worker reports by the time for which it can have lasted. */
export function possibleMs(reportedMs: Millis, sinceMs: Millis): Millis {
  return Math.min(reportedMs, Math.max(0, sinceMs) + CLOCKS_APART_MAX_MS);
}

/** The times of an attempt, as its worker reports them. */
interface ReportedTimes {
  readonly outcome: Outcome;
  readonly runMs: Millis;
  readonly pausedMs?: Millis | undefined;
}

/** Bounds the reported times of an attempt. @param sinceMs time since it can have started at the earliest */
export function possibleTimes(reported: ReportedTimes, sinceMs: Millis): ReportedTimes {
  const runMs = possibleMs(reported.runMs, sinceMs);
  const pausedMs = reported.pausedMs && possibleMs(reported.pausedMs, sinceMs - runMs);
  const { outcome } = reported;
  // No machine has more CPUs than this.
  const cpuMs = outcome.cpuMs && Math.min(outcome.cpuMs, runMs * LIMITS.slotsMax);
  return { outcome: cpuMs === outcome.cpuMs ? outcome : { ...outcome, cpuMs }, runMs, pausedMs };
}

/** Outcome of an attempt that was lost with its worker. */
export const LOST: Outcome = { ...COMPLETED, kind: 'lost', errorCode: 'worker-lost' };

/** Outcome of an attempt that was lost with its worker, where a suspect task was to run alone. */
export const LOST_WITH_SUSPECT: Outcome = {
  ...LOST,
  errorCode: LOST_BESIDE_ANOTHER,
  errorMessage: 'its worker was lost with a task that had lost workers before',
};

/** Outcome of the remaining tasks of a job that has lost too many workers. */
export const LOST_TOO_MANY_WORKERS: Outcome = {
  ...COMPLETED,
  kind: 'failed',
  errorCode: JOB_GIVEN_UP,
  errorMessage:
    'workers were lost one by one running tasks of this job, so it was abandoned: its tasks may need more memory than workers have',
};

/** Outcome of the tasks of a job whose deadline passed before its start. */
export const MISSED_DEADLINE: Outcome = {
  ...COMPLETED,
  kind: 'failed',
  errorCode: DEADLINE_MISSED,
  errorMessage: 'the deadline of the job passed before it could start',
};

/** Outcome of the remaining tasks of a job that has exceeded its time limit. */
export function exceededTimeLimit(limitMs: Millis): Outcome {
  const errorMessage = `the job's time limit of ${formatDuration(limitMs)} has passed`;
  return { ...COMPLETED, kind: 'failed', errorCode: TIME_LIMIT, errorMessage };
}
