import {
  COMPLETED,
  DEADLINE_MISSED,
  formatDuration,
  isExcused,
  JOB_GIVEN_UP,
  LOST_BESIDE_ANOTHER,
  type Millis,
  type Outcome,
  TIME_LIMIT,
} from '@goshawk/core';

/** What the end of an attempt says. */
export type HowEnded =
  | 'completed'
  /** As its job was cancelled. */
  | 'killed'
  /** Nothing of its task. */
  | 'excused'
  | 'lost'
  | 'failed';

export function howEnded(outcome: Outcome, isCancelling: boolean): HowEnded {
  const { kind } = outcome;
  if (kind === 'completed') return kind;
  if (kind === 'cancelled' && isCancelling) return 'killed';
  if (isExcused(outcome)) return 'excused';
  return kind === 'lost' ? kind : 'failed';
}

/** An attempt that went with its worker. */
export const LOST: Outcome = { ...COMPLETED, kind: 'lost', errorCode: 'worker-lost' };

/** An attempt that went with its worker, on which a task ran apart that had lost workers before. */
export const LOST_BESIDE: Outcome = {
  ...LOST,
  errorCode: LOST_BESIDE_ANOTHER,
  errorMessage: 'its worker was lost with a task that had lost workers before',
};

/** What becomes of the tasks that are left of a job that has ended too many workers. */
export const GIVEN_UP: Outcome = {
  ...COMPLETED,
  kind: 'failed',
  errorCode: JOB_GIVEN_UP,
  errorMessage:
    'workers were lost one by one running tasks of this job, so it was abandoned: its tasks may need more memory than workers have',
};

/** What becomes of the tasks of a job that is not to start after its deadline. */
export const ABANDONED: Outcome = {
  ...COMPLETED,
  kind: 'failed',
  errorCode: DEADLINE_MISSED,
  errorMessage: 'the deadline of the job passed before it could start',
};

/** What becomes of the tasks that have not ended within the job's time limit. */
export function outOfTime(limitMs: Millis): Outcome {
  const errorMessage = `the job's time limit of ${formatDuration(limitMs)} has passed`;
  return { ...COMPLETED, kind: 'failed', errorCode: TIME_LIMIT, errorMessage };
}
