import { describeThrownIn, InputError } from '@goshawk/core';

/** Ends a simulation whose estimator is faulty: its figures would be about another estimator. @throws InputError */
export function estimatorFailed(estimator: string, error: unknown): never {
  throw new InputError(
    'estimator-failed',
    `the estimator ${estimator} failed: ${describeThrownIn(error, estimator)}`,
  );
}
