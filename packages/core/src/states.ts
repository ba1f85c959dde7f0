// Names shared by the machines, metrics and clients, in a separate module so that a process does not load the
// machines of other roles.

/** Final states of tasks and jobs. */
export const ENDS = ['completed', 'failed', 'cancelled'] as const;
export type End = (typeof ENDS)[number];

/** Levels of daemon logs, most severe first. */
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** States of a worker. `quarantined`: it accepts no tasks for a while because tasks fail to start there. */
export const WORKER_STATES = ['active', 'draining', 'drained', 'quarantined'] as const;
export type WorkerState = (typeof WORKER_STATES)[number];

/**
 * Kinds of tasks that wait for a match: of a short or long job, of a small or large job whose pilots have not
 * ended, or planned by a central policy.
 */
export const UNMATCHED_KINDS = ['short', 'small', 'long', 'large', 'planned'] as const;
export type UnmatchedKind = (typeof UNMATCHED_KINDS)[number];

export const JOB_STATES = ['waiting', 'running', ...ENDS] as const;
/** `waiting`: no task has started; `running`: some task has; the others are final. */
export type JobState = (typeof JOB_STATES)[number];

export function isFinal(state: JobState): boolean {
  return state === 'completed' || state === 'failed' || state === 'cancelled';
}
