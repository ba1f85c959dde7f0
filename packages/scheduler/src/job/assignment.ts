import type { AttemptNumber, Borrowing, JobNumber, TaskIndex } from '@goshawk/core';

/** How a task was assigned to its worker. */
export const AssignedBy = {
  /** It was running when its owner restarted, or it was never assigned. */
  resumed: 0,
  /** A worker requested it: with an `ask`, a `seek`, or a report that requests the next task. */
  ask: 1,
  /** Central matched it with the worker. */
  match: 2,
} as const;
export type AssignedBy = (typeof AssignedBy)[keyof typeof AssignedBy];

/** Identifies the message that caused an assignment. A repeated message has the same values. */
export interface Assignment {
  readonly by: AssignedBy;
  /** Number of the worker's request or of central's match; 0 for resumed tasks. */
  readonly number: number;
  /** CPUs that the task borrows at its worker; undefined: none. */
  readonly borrows?: Borrowing | undefined;
}

/** Returns the assignment as one number: positive for a match, negative for a request of a worker, 0 for a resumed task. */
export function codeOf({ by, number }: Assignment): number {
  return by === AssignedBy.match ? number : -number;
}

/** Identifies one attempt of one task. */
export interface AttemptRef {
  readonly job: JobNumber;
  readonly task: TaskIndex;
  readonly attempt: AttemptNumber;
}

/** Returns a key for sets and maps. */
export function attemptKey({ job, task, attempt }: AttemptRef): string {
  return `${job}/${task}/${attempt}`;
}
