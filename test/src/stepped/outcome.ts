import type { Outcome, OutcomeKind } from '@goshawk/core';

/** Returns the outcome of a task that is made to end this way. */
export function outcomeOf(kind: OutcomeKind): Outcome {
  return {
    kind,
    value: undefined,
    errorCode: kind === 'completed' ? '' : kind,
    errorMessage: kind === 'completed' ? '' : `the test made the task ${kind}`,
    exitCode: undefined,
    signal: undefined,
  };
}
