import type { Message, Outcome } from '@goshawk/core';
import { failed } from '@goshawk/executors';
import { Codec, Directory } from '@goshawk/transport';
import { describe, expect, test } from 'vitest';
import { taskOutcome } from './task-outcome.js';

const NO_ERROR = { errorCode: '', errorMessage: '', exitCode: undefined, signal: undefined };

describe('the outcome of a run', () => {
  test('completed, with its return value', () => {
    expect(taskOutcome({ kind: 'completed' })).toEqual({ kind: 'completed', value: undefined, ...NO_ERROR });
    expect(taskOutcome({ kind: 'completed', value: { n: 1 }, exitCode: 0 })).toEqual({
      kind: 'completed',
      value: { n: 1 },
      ...NO_ERROR,
      exitCode: 0,
    });
  });

  test('failed, with the reason', () => {
    const error = { code: 'exit-code', message: 'exited with 3' } as const;
    expect(taskOutcome({ kind: 'failed', error, exitCode: 3 })).toEqual({
      kind: 'failed',
      value: undefined,
      errorCode: 'exit-code',
      errorMessage: 'exited with 3',
      exitCode: 3,
      signal: undefined,
    });
    const killed = { code: 'signal', message: 'ended by SIGSEGV' } as const;
    expect(taskOutcome({ kind: 'failed', error: killed, signal: 'SIGSEGV' })).toMatchObject({
      kind: 'failed',
      exitCode: undefined,
      signal: 'SIGSEGV',
    });
  });

  test('killed, with the initiator: a stopping worker is not blamed on the task', () => {
    const kinds = (['cancelled', 'timeout', 'shutdown'] as const).map((reason) =>
      taskOutcome({ kind: 'killed', reason }),
    );
    expect(kinds.map(({ kind, errorCode }) => [kind, errorCode])).toEqual([
      ['cancelled', 'cancelled'],
      ['timeout', 'timeout'],
      ['lost', 'worker-stopped'],
    ]);
  });

  test('a lost executor is not blamed on the task', () => {
    expect(taskOutcome(failed('executor-closed', 'stopping'))).toMatchObject({ kind: 'lost' });
    expect(taskOutcome(failed('spawner-lost', 'gone'))).toMatchObject({ kind: 'lost' });
    expect(taskOutcome(failed('bad-payload', 'none'))).toMatchObject({ kind: 'failed' });
  });

  test('a failed start may be caused by this worker, which its owner decides', () => {
    for (const code of ['process-limit', 'no-memory', 'no-such-folder', 'command-not-found'] as const)
      expect(taskOutcome(failed(code, 'why'))).toMatchObject({ kind: 'lost', errorCode: code });
  });

  test('a value that cannot be encoded is a failure with the path of the value', () => {
    expect(taskOutcome({ kind: 'completed', value: { at: [new Date(0)] } })).toMatchObject({
      kind: 'failed',
      value: undefined,
      errorCode: 'result-not-serialisable',
      errorMessage: "the task's value cannot be sent: at[0]: expected a JSON-like value, got an object",
    });
  });

  test('any outcome of an executor can be sent', () => {
    const codec = new Codec(new Directory());
    const ended = (outcome: Outcome): Message => ({
      type: 'ended',
      report: 1,
      job: 1,
      task: 0,
      attempt: 0,
      outcome,
      runMs: 1,
      output: [],
      outputBytes: 0,
      ask: 0,
    });
    const long = 'x'.repeat(100_000);
    const outcome = taskOutcome({
      kind: 'failed',
      error: { code: long as 'signal', message: long },
      signal: long,
    });
    expect(() => codec.encode(ended(outcome))).not.toThrow();
    expect(outcome.errorMessage.endsWith('…')).toBe(true);
  });
});
