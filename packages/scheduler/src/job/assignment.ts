/** What brought a task to its worker. */
export const AssignedBy = {
  /** It ran when its owner was started again, or was never given out. */
  resumed: 0,
  /** A question of the worker: an `ask`, a `seek`, or a report that asks for the next task. */
  ask: 1,
  /** A match of central. */
  match: 2,
} as const;
export type AssignedBy = (typeof AssignedBy)[keyof typeof AssignedBy];

/** Why a worker has a task: which of its questions was answered, or which match. One that comes again has the same. */
export interface Assignment {
  readonly by: AssignedBy;
  /** Of the worker's question, or of central's match; 0 of what was resumed. */
  readonly number: number;
}
