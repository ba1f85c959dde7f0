import { COMPLETED, KILL_OUTCOMES, type Outcome, startFaultOf } from '@goshawk/core';
import type { FailureCode, Outcome as RunOutcome } from '@goshawk/executors';
import { openProblem } from '@goshawk/transport';

/** Length limits, as declared by the message `ended`. */
const ERROR_CODE_LENGTH_MAX = 64;
const ERROR_MESSAGE_LENGTH_MAX = 4_096;
const SIGNAL_LENGTH_MAX = 32;

/** Failures of the environment rather than the task: the executor was gone or closing. */
const ENVIRONMENT_FAILURES: ReadonlySet<FailureCode> = new Set(['executor-closed', 'spawner-lost']);

/**
 * Converts the outcome of an executor's run to the protocol. The result can always be sent: text is truncated to the
 * limits, and a value that cannot be serialized becomes a failure that says why.
 */
export function taskOutcome(outcome: RunOutcome): Outcome {
  switch (outcome.kind) {
    case 'completed':
      return completed(outcome.value, outcome.exitCode);
    case 'failed': {
      const { code, message } = outcome.error;
      // The owner decides whether a failed start is the task's fault.
      const isNot = ENVIRONMENT_FAILURES.has(code) || startFaultOf(code) !== undefined;
      const kind = isNot ? 'lost' : 'failed';
      const sent = unsuccessful(kind, code, message, outcome.exitCode, outcome.signal);
      const { value } = outcome;
      return value === undefined || openProblem(value) !== undefined ? sent : { ...sent, value };
    }
    case 'killed':
      return KILL_OUTCOMES[outcome.reason];
  }
}

function completed(value: unknown, exitCode: number | undefined): Outcome {
  const problem = openProblem(value);
  if (problem !== undefined) {
    return failedOutcome('result-not-serialisable', `the task's value cannot be sent: ${problem}`);
  }
  return { ...COMPLETED, value, exitCode };
}

/**
 * @param code stable, for programs
 * @param message for people
 */
export function failedOutcome(code: string, message: string): Outcome {
  return unsuccessful('failed', code, message);
}

function unsuccessful(
  kind: Outcome['kind'],
  code: string,
  message: string,
  exitCode?: number,
  signal?: string,
): Outcome {
  return {
    kind,
    value: undefined,
    errorCode: cut(code, ERROR_CODE_LENGTH_MAX),
    errorMessage: cut(message, ERROR_MESSAGE_LENGTH_MAX),
    exitCode,
    signal: signal === undefined ? undefined : cut(signal, SIGNAL_LENGTH_MAX),
  };
}

function cut(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`;
}
