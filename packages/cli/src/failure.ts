import { formatDuration, GoshawkError, InputError, type Millis, UnreachableError } from '@goshawk/core';
import { ExitCode } from './command.js';

/** Jobs have not ended within the time that was given: exit code 124. */
export class WaitTimeoutError extends GoshawkError {
  override name = 'WaitTimeoutError';

  constructor(ids: readonly string[], timeoutMs: Millis) {
    const [have, go] = ids.length === 1 ? ['has', 'it goes'] : ['have', 'they go'];
    super(
      'wait-timeout',
      `${ids.join(', ')} ${have} not ended within ${formatDuration(timeoutMs)}; ${go} on`,
      `\`goshawk wait ${ids.join(' ')}\` waits again`,
    );
  }
}

/** Ctrl-C while waiting for jobs: exit code 130. */
export class DetachedError extends GoshawkError {
  override name = 'DetachedError';
  readonly ids: readonly string[];

  constructor(ids: readonly string[]) {
    const go = ids.length === 1 ? 'goes' : 'go';
    const which = ids.join(' ');
    super(
      'detached',
      `no longer waiting; ${ids.join(', ')} ${go} on`,
      `\`goshawk wait ${which}\` waits again, \`goshawk cancel ${which}\` cancels`,
    );
    this.ids = ids;
  }
}

/** Ctrl-C in the middle of work that leaves nothing behind: exit code 130. */
export class InterruptedError extends GoshawkError {
  override name = 'InterruptedError';

  /** @param what was under way, and how far it had come */
  constructor(what: string) {
    super('interrupted', `interrupted: ${what}`);
  }
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
  if (error instanceof DetachedError || error instanceof InterruptedError) return ExitCode.interrupted;
  return ExitCode.failed;
}

function isWorkloadError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'WorkloadError';
}
