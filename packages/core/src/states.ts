// Words that the machines, metrics and clients share: here, so that a process need not load the machines of other roles.

/** What may become of a task, and of a job. */
export const ENDS = ['completed', 'failed', 'cancelled'] as const;
export type End = (typeof ENDS)[number];

/** Of the log of a daemon, the severest first. */
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** What a worker does. `quarantined`: it takes nothing for a while, since nothing can be started there. */
export const WORKER_STATES = ['active', 'draining', 'drained', 'quarantined'] as const;
export type WorkerState = (typeof WORKER_STATES)[number];

/**
 * What is known of tasks that wait to be matched: their job is short, or long; or neither, since its pilots have not
 * told, and it is small, or large; or a central policy plans them, whatever they are.
 */
export const UNMATCHED_KINDS = ['short', 'small', 'long', 'large', 'planned'] as const;
export type UnmatchedKind = (typeof UNMATCHED_KINDS)[number];
