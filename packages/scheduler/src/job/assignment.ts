/** What brought a task to its worker. */
export const AssignedBy = {
  /** It ran when its owner was started again, or was never given out. */
  resumed: 0,
  /** The answer to an `ask`, or to a report that asks for the next task: sent as `bind`. */
  ask: 1,
  /** The answer to a `seek`: sent as `run`. */
  seek: 2,
  /** A match of central: sent as `run`. */
  match: 3,
} as const;
export type AssignedBy = (typeof AssignedBy)[keyof typeof AssignedBy];

/** Why a worker has a task: which of its questions was answered, or which match. One that comes again has the same. */
export interface Assignment {
  readonly by: AssignedBy;
  /** Of the worker's question, or of central's match; 0 of what was resumed. */
  readonly number: number;
}
