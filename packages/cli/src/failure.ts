import { GoshawkError, InputError, UnreachableError } from '@goshawk/core';
import { ExitCode } from './command.js';

/** A wait that took longer than it was given: exit code 124. */
export class WaitTimeoutError extends GoshawkError {
  override name = 'WaitTimeoutError';
}

/** The command did what it should, and the work did not succeed: exit code 1. */
export class WorkFailedError extends GoshawkError {
  override name = 'WorkFailedError';
}

export interface Failure {
  readonly exitCode: number;
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** What a person and a program are told of an error that ended a command. */
export function describeFailure(error: unknown): Failure {
  if (error instanceof GoshawkError) {
    return { exitCode: exitCodeOf(error), code: error.code, message: error.message, hint: error.hint };
  }
  if (isWorkloadError(error)) {
    return { exitCode: ExitCode.usage, code: 'bad-workload', message: error.message, hint: '' };
  }
  const message = error instanceof Error ? error.message : String(error);
  return {
    exitCode: ExitCode.failed,
    code: 'internal',
    message: `unexpected: ${message}`,
    hint: 'run again with --verbose for the details',
  };
}

/** One line: what is wrong, and what to do. */
export function failureLine({ message, hint }: Failure): string {
  const line = hint === '' ? message : `${message}; ${hint}`;
  return `goshawk: ${line.replaceAll(/\s*\n\s*/g, ' ')}`;
}

function exitCodeOf(error: GoshawkError): number {
  if (error instanceof InputError) return ExitCode.usage;
  if (error instanceof UnreachableError) return ExitCode.unreachable;
  if (error instanceof WaitTimeoutError) return ExitCode.waitTimedOut;
  return ExitCode.failed;
}

function isWorkloadError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'WorkloadError';
}
