import type { Outcome, OutcomeKind } from '@goshawk/core';

/** Of a task that was told to end so. */
export function outcomeOf(kind: OutcomeKind): Outcome {
  return {
    kind,
    value: undefined,
    errorCode: kind === 'completed' ? '' : kind,
    errorMessage: kind === 'completed' ? '' : `the task was told to be ${kind}`,
    exitCode: undefined,
    signal: undefined,
  };
}
