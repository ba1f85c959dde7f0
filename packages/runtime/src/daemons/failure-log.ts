import { describeThrownIn } from '@goshawk/core';
import type { ProcessOptions } from './process.js';

/**
 * Returns a function that logs a failure of a custom policy or estimator whenever the number of its failures has
 * doubled, because it may fail in every turn.
 *
 * @param message what failed, and the consequence
 */
export function failureLog(
  logger: ProcessOptions['logger'],
  kind: 'policy' | 'estimator',
  message: string,
): (name: string, error: unknown) => void {
  const failuresOf = new Map<string, number>();
  return (name, error) => {
    const failures = (failuresOf.get(name) ?? 0) + 1;
    failuresOf.set(name, failures);
    if (Number.isInteger(Math.log2(failures)))
      logger.error(
        { event: `${kind}-failed`, [kind]: name, failures, error: describeThrownIn(error, name) },
        message,
      );
  };
}
