import {
  COMPLETED,
  DEADLINE_MISSED,
  formatDuration,
  isExcused,
  JOB_GIVEN_UP,
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
