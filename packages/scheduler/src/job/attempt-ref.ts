import type { JobNumber, TaskIndex } from '@goshawk/core';

/** One attempt of one task, as the owner of its job names it. */
export interface AttemptRef {
  readonly job: JobNumber;
  readonly task: TaskIndex;
  readonly attempt: number;
}

export function isSameAttempt(one: AttemptRef, other: AttemptRef): boolean {
  return one.job === other.job && one.task === other.task && one.attempt === other.attempt;
}

/** For sets and maps. */
export function attemptKey({ job, task, attempt }: AttemptRef): string {
  return `${job}/${task}/${attempt}`;
}
